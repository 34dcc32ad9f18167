//! Groups: what stands between parentheses, and what `(?` makes of it.
//!
//! Invariant: flags end with the group that they were set in. Next on the trip: [`super::parse`].

use super::escape::Charset;
use super::parse::{GROUPS_MAX, Parser};
use super::{Group, Kind, Node, SyntaxError, Target};

impl Parser<'_> {
    /// After an opening parenthesis.
    pub(super) fn group(
        &mut self,
        start: usize,
        depth: usize,
    ) -> Result<Option<Node>, SyntaxError> {
        if !self.eat("?") {
            return self.capture(None, start, depth).map(Some);
        }
        let Some(letter) = self.bump() else {
            return Err(self.error(start, "a group that is not closed"));
        };
        let wrap: fn(Box<Node>) -> Kind = match (letter, self.peek()) {
            (':', _) => Kind::Group,
            ('>', _) => Kind::Atomic,
            ('=', _) => |node| Kind::Look { behind: false, negated: false, node },
            ('!', _) => |node| Kind::Look { behind: false, negated: true, node },
            ('<', Some('=')) => |node| Kind::Look { behind: true, negated: false, node },
            ('<', Some('!')) => |node| Kind::Look { behind: true, negated: true, node },
            ('<' | '\'', _) => {
                let close = if letter == '<' { '>' } else { '\'' };
                let name = self.group_name(close, start)?;
                return self.capture(Some(name), start, depth).map(Some);
            }
            ('(', _) => return self.condition(start, depth).map(Some),
            ('~', _) => {
                let help = "write `.*?` and then what ends it, or `(?:(?!…).)*` with what must be \
                            absent in the place of the dots";
                let error = self.error(start, "the absent operator (`(?~`) is not supported");
                return Err(SyntaxError { help: Some(help), ..error });
            }
            _ => {
                self.at -= letter.len_utf8();
                return self.flag_group(start, depth);
            }
        };
        let behind = letter == '<';
        if behind {
            self.bump();
        }
        let node = self.inside(start, depth)?;
        if behind {
            self.check_look_behind(&node, start)?;
        }
        Ok(Some(Node::new(wrap(Box::new(node)), start..self.at)))
    }

    /// What a group holds, and its closing parenthesis. Flags set inside end with it.
    fn inside(&mut self, start: usize, depth: usize) -> Result<Node, SyntaxError> {
        let flags = self.flags;
        let node = self.alternation(depth + 1)?;
        self.flags = flags;
        if !self.eat(")") {
            return Err(SyntaxError {
                span: start..self.text.len(),
                message: "a group that is not closed".to_owned(),
                help: None,
            });
        }
        Ok(node)
    }

    fn capture(
        &mut self,
        name: Option<String>,
        start: usize,
        depth: usize,
    ) -> Result<Node, SyntaxError> {
        let slot = self.groups.len();
        if slot >= GROUPS_MAX {
            return Err(self.error(start, &format!("more than {GROUPS_MAX} groups")));
        }
        self.groups.push(Group { name, span: start..self.at });
        let node = Box::new(self.inside(start, depth)?);
        Ok(Node::new(Kind::Capture { slot, node }, start..self.at))
    }

    fn group_name(&mut self, close: char, start: usize) -> Result<String, SyntaxError> {
        let name = self.take_until(close, start)?;
        let first = name.chars().next();
        let begins_well =
            first.is_some_and(|letter| "_[".contains(letter) || letter.is_alphanumeric());
        if !begins_well || first.is_some_and(char::is_numeric) || name.contains(')') {
            return Err(self.error(start, &format!("`{name}` is no name for a group")));
        }
        Ok(name)
    }

    /// `(?(<name>)yes|no)`, after its second opening parenthesis.
    fn condition(&mut self, start: usize, depth: usize) -> Result<Node, SyntaxError> {
        let condition = self.take_until(')', start)?;
        let bare = condition
            .strip_prefix('<')
            .and_then(|name| name.strip_suffix('>'))
            .or_else(|| condition.strip_prefix('\'').and_then(|name| name.strip_suffix('\'')))
            .unwrap_or(&condition);
        let target = match bare.parse::<usize>() {
            Ok(number) => Target::Number(number),
            Err(_) => Target::Name(bare.to_owned()),
        };
        let inside = self.inside(start, depth)?;
        let nothing = || Box::new(Node::new(Kind::Empty, self.at..self.at));
        let (yes, no) = match inside.kind {
            Kind::Alternate(mut branches) if branches.len() == 2 => {
                let no = branches.pop().expect("there are two branches");
                let yes = branches.pop().expect("there are two branches");
                (Box::new(yes), Box::new(no))
            }
            Kind::Alternate(_) => {
                return Err(self.error(start, "a condition with more than two branches"));
            }
            _ => (Box::new(inside), nothing()),
        };
        Ok(Node::new(Kind::Condition { target, yes, no }, start..self.at))
    }

    /// `(?i)`, which holds to the end of the group around it, or `(?i:…)`.
    fn flag_group(&mut self, start: usize, depth: usize) -> Result<Option<Node>, SyntaxError> {
        let outside = self.flags;
        let mut flags = outside;
        let mut on = true;
        loop {
            match self.bump() {
                Some('-') if on => on = false,
                Some('i') => flags.fold = on,
                Some('m') => flags.dot_stops = !on,
                Some('x') => flags.extended = on,
                Some('u') if on => flags.charset = Charset::Unicode,
                Some('a') if on => flags.charset = Charset::Ascii,
                Some('d') if on => flags.charset = Charset::Default,
                Some(')') => {
                    // In Ruby `a(?i)b|c` is `a(?i:b|c)`: the rest of the group is one part.
                    self.flags = flags;
                    let from = self.at;
                    let node = self.alternation(depth + 1)?;
                    self.flags = outside;
                    return Ok(Some(Node::new(Kind::Group(Box::new(node)), from..self.at)));
                }
                Some(':') => {
                    self.flags = flags;
                    let node = self.inside(start, depth);
                    self.flags = outside;
                    let node = Box::new(node?);
                    return Ok(Some(Node::new(Kind::Group(node), start..self.at)));
                }
                _ => return Err(self.error(start, "an unknown kind of group")),
            }
        }
    }

    /// Ruby looks behind by fixed widths: one, or one for each branch at the top.
    fn check_look_behind(&self, node: &Node, start: usize) -> Result<(), SyntaxError> {
        let fixed = match &node.kind {
            Kind::Alternate(branches) => branches.iter().all(|branch| branch.width().is_some()),
            _ => node.width().is_some(),
        };
        if fixed {
            return Ok(());
        }
        Err(self.error(start, "a look-behind of no fixed width"))
    }
}
