//! Reads an expression and works it out on the way.
//!
//! From loose to tight: `+ -`, then `* / %`, then a sign, then `^`, which goes from right to left.

use super::Fault;
use super::functions::{constant, function};
use super::number::Number;

/// How long an expression may be, in characters.
const MAX_LENGTH: usize = 10_000;

/// How deep it may nest.
const MAX_DEPTH: usize = 100;

/// The value of an expression.
pub(super) fn value(expression: &str) -> Result<Number, Fault> {
    let letters: Vec<char> = expression.chars().collect();
    if letters.len() > MAX_LENGTH {
        let what = format!("the expression has more than {MAX_LENGTH} characters");
        return Err(Fault::new(MAX_LENGTH + 1, what));
    }
    let mut reader = Reader {
        letters: &letters,
        at: 0,
        depth: 0,
    };
    let value = reader.sum()?;
    match reader.peek() {
        None => Ok(value),
        Some(letter) => Err(reader.fault(format!("`{letter}` does not belong here"))),
    }
}

struct Reader<'a> {
    letters: &'a [char],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    /// What comes next, white space aside.
    fn peek(&mut self) -> Option<char> {
        while self.letter(0).is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        self.letter(0)
    }

    fn letter(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    /// Takes a sign, however it is written, and gives its column.
    fn take(&mut self, wanted: &[char]) -> Option<(char, usize)> {
        let found = self.peek().filter(|letter| wanted.contains(letter))?;
        self.at += 1;
        Some((found, self.at))
    }

    fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::new(self.at + 1, what)
    }

    fn sum(&mut self) -> Result<Number, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let what = format!("the expression nests deeper than {MAX_DEPTH} levels");
            return Err(self.fault(what));
        }
        let mut value = self.product()?;
        while let Some((sign, _)) = self.take(&['+', '-', '−']) {
            let next = self.product()?;
            value = match sign {
                '+' => value.plus(next),
                _ => value.minus(next),
            };
        }
        self.depth -= 1;
        Ok(value)
    }

    fn product(&mut self) -> Result<Number, Fault> {
        let mut value = self.signed()?;
        loop {
            // Two stars are a power, which binds tighter and is taken there.
            let Some((sign, column)) = self.take(&['*', '×', '·', '/', '÷', '%']) else {
                return Ok(value);
            };
            let next = self.signed()?;
            value = match sign {
                '/' | '÷' => value.over(next, column)?,
                '%' => value.rest(next, column)?,
                _ => value.times(next),
            };
        }
    }

    fn signed(&mut self) -> Result<Number, Fault> {
        let mut negative = false;
        while let Some((sign, _)) = self.take(&['-', '−', '+']) {
            negative ^= sign != '+';
        }
        let value = self.power()?;
        Ok(match negative {
            true => value.negative(),
            false => value,
        })
    }

    fn power(&mut self) -> Result<Number, Fault> {
        let base = self.atom()?;
        let is_power = match self.peek() {
            Some('^') => 1,
            Some('*') if self.letter(1) == Some('*') => 2,
            _ => return Ok(base),
        };
        self.at += is_power;
        let column = self.at;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let what = format!("the expression nests deeper than {MAX_DEPTH} levels");
            return Err(self.fault(what));
        }
        let exponent = self.signed()?;
        self.depth -= 1;
        base.power(exponent, column)
    }

    fn atom(&mut self) -> Result<Number, Fault> {
        match self.peek() {
            None => Err(self.fault("a number is missing")),
            Some('(') => {
                self.at += 1;
                let value = self.sum()?;
                self.close()?;
                Ok(value)
            }
            Some(letter) if letter.is_ascii_digit() || letter == '.' => self.number(),
            Some(letter) if letter.is_alphabetic() => self.name(),
            Some(letter) => Err(self.fault(format!("a number is missing before `{letter}`"))),
        }
    }

    fn close(&mut self) -> Result<(), Fault> {
        match self.take(&[')']) {
            Some(_) => Ok(()),
            None => Err(self.fault("a `)` is missing")),
        }
    }

    fn number(&mut self) -> Result<Number, Fault> {
        let from = self.at;
        let is_digit = |letter: Option<char>| letter.is_some_and(|c| c.is_ascii_digit());
        while is_digit(self.letter(0)) {
            self.at += 1;
        }
        if self.letter(0) == Some('.') {
            self.at += 1;
            while is_digit(self.letter(0)) {
                self.at += 1;
            }
        }
        // `2e` is not the beginning of a number, and `2e3` is one.
        let sign = usize::from(matches!(self.letter(1), Some('+' | '-')));
        if matches!(self.letter(0), Some('e' | 'E')) && is_digit(self.letter(1 + sign)) {
            self.at += 1 + sign;
            while is_digit(self.letter(0)) {
                self.at += 1;
            }
        }
        let letters = self.letters.get(from..self.at).unwrap_or_default();
        let text: String = letters.iter().collect();
        if let Ok(whole) = text.parse() {
            return Ok(Number::Whole(whole));
        }
        let real: Option<f64> = text.parse().ok().filter(|real: &f64| real.is_finite());
        let fault = || Fault::new(from + 1, format!("`{text}` is no number"));
        real.map(Number::Real).ok_or_else(fault)
    }

    fn name(&mut self) -> Result<Number, Fault> {
        let column = self.at + 1;
        let mut name = String::new();
        while let Some(letter) = self.letter(0).filter(|c| c.is_alphanumeric() || *c == '_') {
            name.push(letter);
            self.at += 1;
        }
        if self.peek() != Some('(') {
            let unknown = || Fault::new(column, format!("`{name}` means nothing here"));
            return constant(&name).ok_or_else(unknown);
        }
        self.at += 1;
        let mut numbers = Vec::new();
        if self.peek() != Some(')') {
            numbers.push(self.sum()?);
            while self.take(&[',', ';']).is_some() {
                numbers.push(self.sum()?);
            }
        }
        self.close()?;
        function(&name, &numbers, column)
    }
}
