macro_rules! tagged {
    ($name:ident { $($tag:literal => $variant:ident $(($payload:ty))?),+ $(,)? }) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                use serde::de::Error as _;
                let mut map = serde_json::Map::deserialize(d)?;
                let tag = map.remove("type").and_then(|t| t.as_str().map(str::to_owned)).ok_or_else(|| D::Error::missing_field("type"))?;
                match tag.as_str() {
                    $($tag => crate::json::tagged::tagged!(@make $name $variant $(($payload))? map D),)+
                    other => Err(D::Error::unknown_variant(other, &[$($tag),+])),
                }
            }
        }
    };
    (@make $name:ident $variant:ident ($payload:ty) $map:ident $d:ident) => {
        serde_json::from_value::<$payload>(serde_json::Value::Object($map)).map($name::$variant).map_err($d::Error::custom)
    };
    (@make $name:ident $variant:ident $map:ident $d:ident) => {{ let _ = $map; Ok($name::$variant) }};
}
pub(crate) use tagged;
