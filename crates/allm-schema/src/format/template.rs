//! URI templates of RFC 6570.

pub(super) fn is_template(text: &str) -> bool {
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (literal, after) = rest.split_at(open);
        let Some((expression, behind)) = after.split_once('}') else {
            return false;
        };
        let expression = expression.get(1..).unwrap_or_default();
        if !is_literal(literal) || !is_expression(expression) {
            return false;
        }
        rest = behind;
    }
    is_literal(rest)
}

fn is_literal(text: &str) -> bool {
    let no_literal = |c: char| c <= ' ' || c == '\u{7f}' || "\"<>\\^`{|}".contains(c);
    !text.contains(no_literal) && encodings_are_sound(text)
}

fn encodings_are_sound(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

fn is_expression(text: &str) -> bool {
    let variables = text
        .strip_prefix(|c| "+#./;?&=,!@|".contains(c))
        .unwrap_or(text);
    variables.split(',').all(is_variable)
}

fn is_variable(text: &str) -> bool {
    let name = if let Some((name, length)) = text.split_once(':') {
        let sound = (1..=4).contains(&length.len())
            && !length.starts_with('0')
            && length.bytes().all(|b| b.is_ascii_digit());
        if !sound {
            return false;
        }
        name
    } else {
        text.strip_suffix('*').unwrap_or(text)
    };
    encodings_are_sound(name)
        && name.split('.').all(|part| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'%')
        })
}
