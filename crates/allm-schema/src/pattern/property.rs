//! Properties of Unicode, as `\p{…}` names them.

use unicode_general_category::get_general_category;
use unicode_script::{Script, UnicodeScript};

/// Something that is true of a character or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Property {
    /// Every character.
    Any,
    Ascii,
    AsciiHexDigit,
    Alphabetic,
    Assigned,
    Lowercase,
    Uppercase,
    WhiteSpace,
    /// Letters that have a case; the one category whose short name does not begin those of its parts.
    CasedLetter,
    /// A general category by its short name, or a group of them by the letter that theirs begin with.
    Category(&'static str),
    Script(Script),
    ScriptExtensions(Script),
}

/// The general categories, each by its names.
const CATEGORIES: [&[&str]; 37] = [
    &["L", "Letter"],
    &["Lu", "Uppercase_Letter"],
    &["Ll", "Lowercase_Letter"],
    &["Lt", "Titlecase_Letter"],
    &["Lm", "Modifier_Letter"],
    &["Lo", "Other_Letter"],
    &["M", "Mark", "Combining_Mark"],
    &["Mn", "Nonspacing_Mark"],
    &["Mc", "Spacing_Mark"],
    &["Me", "Enclosing_Mark"],
    &["N", "Number"],
    &["Nd", "Decimal_Number", "digit"],
    &["Nl", "Letter_Number"],
    &["No", "Other_Number"],
    &["P", "Punctuation", "punct"],
    &["Pc", "Connector_Punctuation"],
    &["Pd", "Dash_Punctuation"],
    &["Ps", "Open_Punctuation"],
    &["Pe", "Close_Punctuation"],
    &["Pi", "Initial_Punctuation"],
    &["Pf", "Final_Punctuation"],
    &["Po", "Other_Punctuation"],
    &["S", "Symbol"],
    &["Sm", "Math_Symbol"],
    &["Sc", "Currency_Symbol"],
    &["Sk", "Modifier_Symbol"],
    &["So", "Other_Symbol"],
    &["Z", "Separator"],
    &["Zs", "Space_Separator"],
    &["Zl", "Line_Separator"],
    &["Zp", "Paragraph_Separator"],
    &["C", "Other"],
    &["Cc", "Control", "cntrl"],
    &["Cf", "Format"],
    &["Cs", "Surrogate"],
    &["Co", "Private_Use"],
    &["Cn", "Unassigned"],
];

impl Property {
    /// The property with this name, which is what stands between `{` and `}`.
    pub(super) fn named(name: &str) -> Option<Self> {
        let Some((name, value)) = name.split_once('=') else {
            return binary(name).or_else(|| category(name));
        };
        match name {
            "General_Category" | "gc" => category(value),
            "Script" | "sc" => script(value).map(Self::Script),
            "Script_Extensions" | "scx" => script(value).map(Self::ScriptExtensions),
            _ => None,
        }
    }

    /// Whether a character has the property.
    pub(super) fn contains(self, character: char) -> bool {
        match self {
            Self::Any => true,
            Self::Ascii => character.is_ascii(),
            Self::AsciiHexDigit => character.is_ascii_hexdigit(),
            Self::Alphabetic => character.is_alphabetic(),
            Self::Assigned => !Self::Category("Cn").contains(character),
            Self::Lowercase => character.is_lowercase(),
            Self::Uppercase => character.is_uppercase(),
            Self::WhiteSpace => character.is_whitespace(),
            Self::CasedLetter => matches!(abbreviation(character), "Lu" | "Ll" | "Lt"),
            Self::Category(name) => abbreviation(character).starts_with(name),
            Self::Script(script) => character.script() == script,
            // The extensions of a character without a script are none at all.
            Self::ScriptExtensions(Script::Unknown) => character.script() == Script::Unknown,
            Self::ScriptExtensions(script) => {
                character.script_extension().iter().any(|one| one == script)
            }
        }
    }
}

fn abbreviation(character: char) -> &'static str {
    get_general_category(character).abbreviation()
}

fn binary(name: &str) -> Option<Property> {
    Some(match name {
        "Any" => Property::Any,
        "ASCII" => Property::Ascii,
        "ASCII_Hex_Digit" | "AHex" => Property::AsciiHexDigit,
        "Alphabetic" | "Alpha" => Property::Alphabetic,
        "Assigned" => Property::Assigned,
        "Lowercase" | "Lower" => Property::Lowercase,
        "Uppercase" | "Upper" => Property::Uppercase,
        "White_Space" | "space" => Property::WhiteSpace,
        _ => return None,
    })
}

fn category(name: &str) -> Option<Property> {
    if matches!(name, "LC" | "Cased_Letter") {
        return Some(Property::CasedLetter);
    }
    let names = CATEGORIES.iter().find(|names| names.contains(&name))?;
    names.first().copied().map(Property::Category)
}

fn script(name: &str) -> Option<Script> {
    match name {
        "Qaac" => Some(Script::Coptic),
        "Qaai" => Some(Script::Inherited),
        _ => Script::from_full_name(name).or_else(|| Script::from_short_name(name)),
    }
}
