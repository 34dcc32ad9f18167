//! Names of months, weekdays and halves of the day, by language.
//!
//! Invariant: a name is compared without regard to case, and of several that fit the longest is
//! taken, whether the format asks for the long or the short form: so it is in Joda. The names are
//! CLDR's, with the shapes of older Java runtimes beside them (`Nov` and `Nov.`). Next on the
//! trip: [`super::format`], whose items hold a locale.

use std::ops::ControlFlow;

/// The names of one language.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Locale {
    language: &'static str,
    months: [&'static [&'static str]; 12],
    /// From Monday.
    weekdays: [&'static [&'static str]; 7],
    /// Before noon, after noon.
    halfdays: [&'static [&'static str]; 2],
}

/// Which of the names is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NameKind {
    Month,
    Weekday,
    Halfday,
}

impl Locale {
    /// Finds a locale by its tag: `zh`, `zh-CN`, `zh_CN.UTF-8`. Only the language counts.
    pub(super) fn find(tag: &str) -> Option<&'static Locale> {
        let language = tag.split(['-', '_', '.']).next().unwrap_or_default();
        LOCALES.iter().find(|locale| locale.language.eq_ignore_ascii_case(language))
    }

    /// English, where no locale is named.
    pub(super) fn english() -> &'static Locale {
        &LOCALES[0]
    }

    /// The languages there are.
    pub(super) fn languages() -> impl Iterator<Item = &'static str> {
        LOCALES.iter().map(|locale| locale.language)
    }

    /// The month of `Mi Mai 15`, in whichever language has both names: its number from 1, and what
    /// follows the blank behind it.
    pub(super) fn weekday_and_month(text: &str) -> Option<(usize, &str)> {
        LOCALES.iter().find_map(|locale| {
            let (_, rest) = locale.strip(NameKind::Weekday, text)?;
            let rest = rest.strip_prefix('.').unwrap_or(rest).strip_prefix(' ')?;
            let (month, rest) = locale.strip(NameKind::Month, rest.trim_start_matches(' '))?;
            let rest = rest.strip_prefix('.').unwrap_or(rest).strip_prefix(' ')?;
            Some((month as usize + 1, rest))
        })
    }

    /// Takes the longest name off the front that fits: its index from 0, and what follows.
    pub(super) fn strip<'t>(&self, kind: NameKind, text: &'t str) -> Option<(u32, &'t str)> {
        let names: &[&[&str]] = match kind {
            NameKind::Month => &self.months,
            NameKind::Weekday => &self.weekdays,
            NameKind::Halfday => &self.halfdays,
        };
        let first = text.as_bytes().first()?.to_ascii_lowercase();
        let mut best: Option<(u32, &str)> = None;
        for (shapes, index) in names.iter().zip(0..) {
            for shape in *shapes {
                // Most names fall at their first letter.
                let initial = shape.as_bytes()[0];
                if initial.is_ascii() && initial.to_ascii_lowercase() != first {
                    continue;
                }
                if let Some(rest) = strip_name(text, shape)
                    && best.is_none_or(|(_, best)| rest.len() < best.len())
                {
                    best = Some((index, rest));
                }
            }
        }
        best
    }
}

/// Takes a name off the front, in any case.
fn strip_name<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    if let Some((front, rest)) = text.split_at_checked(name.len())
        && front.eq_ignore_ascii_case(name)
    {
        return Some(rest);
    }
    if name.is_ascii() {
        return None;
    }
    let mut letters = text.chars();
    let compared = name.chars().try_for_each(|letter| match letters.next() {
        Some(found) if found == letter || found.to_lowercase().eq(letter.to_lowercase()) => {
            ControlFlow::Continue(())
        }
        _ => ControlFlow::Break(()),
    });
    compared.is_continue().then_some(letters.as_str())
}

const ENGLISH_HALVES: [&[&str]; 2] = [&["AM", "a.m."], &["PM", "p.m."]];

static LOCALES: [Locale; 11] = [
    Locale {
        language: "en",
        months: [
            &["January", "Jan"],
            &["February", "Feb"],
            &["March", "Mar"],
            &["April", "Apr"],
            &["May"],
            &["June", "Jun"],
            &["July", "Jul"],
            &["August", "Aug"],
            &["September", "Sep"],
            &["October", "Oct"],
            &["November", "Nov"],
            &["December", "Dec"],
        ],
        weekdays: [
            &["Monday", "Mon"],
            &["Tuesday", "Tue"],
            &["Wednesday", "Wed"],
            &["Thursday", "Thu"],
            &["Friday", "Fri"],
            &["Saturday", "Sat"],
            &["Sunday", "Sun"],
        ],
        halfdays: [&["AM"], &["PM"]],
    },
    Locale {
        language: "zh",
        months: [
            &["一月", "1月"],
            &["二月", "2月"],
            &["三月", "3月"],
            &["四月", "4月"],
            &["五月", "5月"],
            &["六月", "6月"],
            &["七月", "7月"],
            &["八月", "8月"],
            &["九月", "9月"],
            &["十月", "10月"],
            &["十一月", "11月"],
            &["十二月", "12月"],
        ],
        weekdays: [
            &["星期一", "周一"],
            &["星期二", "周二"],
            &["星期三", "周三"],
            &["星期四", "周四"],
            &["星期五", "周五"],
            &["星期六", "周六"],
            &["星期日", "周日"],
        ],
        halfdays: [&["上午"], &["下午"]],
    },
    Locale {
        language: "ja",
        months: [
            &["1月"],
            &["2月"],
            &["3月"],
            &["4月"],
            &["5月"],
            &["6月"],
            &["7月"],
            &["8月"],
            &["9月"],
            &["10月"],
            &["11月"],
            &["12月"],
        ],
        weekdays: [
            &["月曜日", "月"],
            &["火曜日", "火"],
            &["水曜日", "水"],
            &["木曜日", "木"],
            &["金曜日", "金"],
            &["土曜日", "土"],
            &["日曜日", "日"],
        ],
        halfdays: [&["午前"], &["午後"]],
    },
    Locale {
        language: "de",
        months: [
            &["Januar", "Jan.", "Jan", "Jänner", "Jän.", "Jän"],
            &["Februar", "Feb.", "Feb"],
            &["März", "Mär.", "Mär", "Mrz"],
            &["April", "Apr.", "Apr"],
            &["Mai"],
            &["Juni", "Jun.", "Jun"],
            &["Juli", "Jul.", "Jul"],
            &["August", "Aug.", "Aug"],
            &["September", "Sept.", "Sep.", "Sept", "Sep"],
            &["Oktober", "Okt.", "Okt"],
            &["November", "Nov.", "Nov"],
            &["Dezember", "Dez.", "Dez"],
        ],
        weekdays: [
            &["Montag", "Mo.", "Mo"],
            &["Dienstag", "Di.", "Di"],
            &["Mittwoch", "Mi.", "Mi"],
            &["Donnerstag", "Do.", "Do"],
            &["Freitag", "Fr.", "Fr"],
            &["Samstag", "Sa.", "Sa", "Sonnabend"],
            &["Sonntag", "So.", "So"],
        ],
        halfdays: [&["vorm.", "AM"], &["nachm.", "PM"]],
    },
    Locale {
        language: "fr",
        months: [
            &["janvier", "janv.", "janv"],
            &["février", "févr.", "févr"],
            &["mars"],
            &["avril", "avr.", "avr"],
            &["mai"],
            &["juin"],
            &["juillet", "juil.", "juil"],
            &["août"],
            &["septembre", "sept.", "sept"],
            &["octobre", "oct.", "oct"],
            &["novembre", "nov.", "nov"],
            &["décembre", "déc.", "déc"],
        ],
        weekdays: [
            &["lundi", "lun.", "lun"],
            &["mardi", "mar.", "mar"],
            &["mercredi", "mer.", "mer"],
            &["jeudi", "jeu.", "jeu"],
            &["vendredi", "ven.", "ven"],
            &["samedi", "sam.", "sam"],
            &["dimanche", "dim.", "dim"],
        ],
        halfdays: [&["AM"], &["PM"]],
    },
    Locale {
        language: "es",
        months: [
            &["enero", "ene.", "ene"],
            &["febrero", "feb.", "feb"],
            &["marzo", "mar.", "mar"],
            &["abril", "abr.", "abr"],
            &["mayo", "may.", "may"],
            &["junio", "jun.", "jun"],
            &["julio", "jul.", "jul"],
            &["agosto", "ago.", "ago"],
            &["septiembre", "sept.", "sep.", "sept", "sep"],
            &["octubre", "oct.", "oct"],
            &["noviembre", "nov.", "nov"],
            &["diciembre", "dic.", "dic"],
        ],
        weekdays: [
            &["lunes", "lun.", "lun"],
            &["martes", "mar.", "mar"],
            &["miércoles", "mié.", "mié"],
            &["jueves", "jue.", "jue"],
            &["viernes", "vie.", "vie"],
            &["sábado", "sáb.", "sáb"],
            &["domingo", "dom.", "dom"],
        ],
        halfdays: ENGLISH_HALVES,
    },
    Locale {
        language: "it",
        months: [
            &["gennaio", "gen"],
            &["febbraio", "feb"],
            &["marzo", "mar"],
            &["aprile", "apr"],
            &["maggio", "mag"],
            &["giugno", "giu"],
            &["luglio", "lug"],
            &["agosto", "ago"],
            &["settembre", "set"],
            &["ottobre", "ott"],
            &["novembre", "nov"],
            &["dicembre", "dic"],
        ],
        weekdays: [
            &["lunedì", "lun"],
            &["martedì", "mar"],
            &["mercoledì", "mer"],
            &["giovedì", "gio"],
            &["venerdì", "ven"],
            &["sabato", "sab"],
            &["domenica", "dom"],
        ],
        halfdays: [&["AM"], &["PM"]],
    },
    Locale {
        language: "pt",
        months: [
            &["janeiro", "jan.", "jan"],
            &["fevereiro", "fev.", "fev"],
            &["março", "mar.", "mar"],
            &["abril", "abr.", "abr"],
            &["maio", "mai.", "mai"],
            &["junho", "jun.", "jun"],
            &["julho", "jul.", "jul"],
            &["agosto", "ago.", "ago"],
            &["setembro", "set.", "set"],
            &["outubro", "out.", "out"],
            &["novembro", "nov.", "nov"],
            &["dezembro", "dez.", "dez"],
        ],
        weekdays: [
            &["segunda-feira", "segunda", "seg.", "seg"],
            &["terça-feira", "terça", "ter.", "ter"],
            &["quarta-feira", "quarta", "qua.", "qua"],
            &["quinta-feira", "quinta", "qui.", "qui"],
            &["sexta-feira", "sexta", "sex.", "sex"],
            &["sábado", "sáb.", "sáb"],
            &["domingo", "dom.", "dom"],
        ],
        halfdays: [&["AM"], &["PM"]],
    },
    Locale {
        language: "ru",
        months: [
            &["января", "январь", "янв.", "янв"],
            &["февраля", "февраль", "февр.", "фев.", "фев"],
            &["марта", "март", "мар.", "мар"],
            &["апреля", "апрель", "апр.", "апр"],
            &["мая", "май"],
            &["июня", "июнь", "июн.", "июн"],
            &["июля", "июль", "июл.", "июл"],
            &["августа", "август", "авг.", "авг"],
            &["сентября", "сентябрь", "сент.", "сен.", "сен"],
            &["октября", "октябрь", "окт.", "окт"],
            &["ноября", "ноябрь", "нояб.", "ноя.", "ноя"],
            &["декабря", "декабрь", "дек.", "дек"],
        ],
        weekdays: [
            &["понедельник", "пн"],
            &["вторник", "вт"],
            &["среда", "ср"],
            &["четверг", "чт"],
            &["пятница", "пт"],
            &["суббота", "сб"],
            &["воскресенье", "вс"],
        ],
        halfdays: [&["AM"], &["PM"]],
    },
    Locale {
        language: "ko",
        months: [
            &["1월"],
            &["2월"],
            &["3월"],
            &["4월"],
            &["5월"],
            &["6월"],
            &["7월"],
            &["8월"],
            &["9월"],
            &["10월"],
            &["11월"],
            &["12월"],
        ],
        weekdays: [
            &["월요일", "월"],
            &["화요일", "화"],
            &["수요일", "수"],
            &["목요일", "목"],
            &["금요일", "금"],
            &["토요일", "토"],
            &["일요일", "일"],
        ],
        halfdays: [&["오전", "AM"], &["오후", "PM"]],
    },
    Locale {
        language: "nl",
        months: [
            &["januari", "jan.", "jan"],
            &["februari", "feb.", "feb"],
            &["maart", "mrt.", "mrt"],
            &["april", "apr.", "apr"],
            &["mei"],
            &["juni", "jun.", "jun"],
            &["juli", "jul.", "jul"],
            &["augustus", "aug.", "aug"],
            &["september", "sep.", "sep"],
            &["oktober", "okt.", "okt"],
            &["november", "nov.", "nov"],
            &["december", "dec.", "dec"],
        ],
        weekdays: [
            &["maandag", "ma"],
            &["dinsdag", "di"],
            &["woensdag", "wo"],
            &["donderdag", "do"],
            &["vrijdag", "vr"],
            &["zaterdag", "za"],
            &["zondag", "zo"],
        ],
        halfdays: [&["a.m.", "AM"], &["p.m.", "PM"]],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tag: &str, kind: NameKind, text: &str, expect: Option<(u32, &str)>) {
        assert_eq!(Locale::find(tag).unwrap().strip(kind, text), expect, "{tag} {text:?}");
    }

    #[test]
    fn names_are_read_in_any_case_and_the_longest_wins() {
        check("en", NameKind::Month, "NOVEMBER 1", Some((10, " 1")));
        check("en-US", NameKind::Month, "Novem", Some((10, "em")));
        check("en", NameKind::Month, "may", Some((4, "")));
        check("zh-CN", NameKind::Month, "十一月30", Some((10, "30")));
        check("zh_CN.UTF-8", NameKind::Month, "十月30", Some((9, "30")));
        check("zh", NameKind::Month, "12月", Some((11, "")));
        check("zh", NameKind::Halfday, "下午3", Some((1, "3")));
        check("fr-FR", NameKind::Month, "DÉC. 31", Some((11, " 31")));
        check("de", NameKind::Month, "MÄRZ", Some((2, "")));
        check("de", NameKind::Weekday, "Mo., 3", Some((0, ", 3")));
        check("pt", NameKind::Weekday, "terça-feira", Some((1, "")));
        check("fr", NameKind::Month, "Dezember", None);
        check("ja", NameKind::Weekday, "", None);
    }

    #[test]
    fn every_name_reads_as_itself() {
        for locale in &LOCALES {
            let lists: [(NameKind, &[&[&str]]); 3] = [
                (NameKind::Month, &locale.months),
                (NameKind::Weekday, &locale.weekdays),
                (NameKind::Halfday, &locale.halfdays),
            ];
            for (kind, names) in lists {
                for (shapes, index) in names.iter().zip(0..) {
                    for shape in *shapes {
                        check(locale.language, kind, shape, Some((index, "")));
                        check(locale.language, kind, &shape.to_uppercase(), Some((index, "")));
                    }
                }
            }
        }
        assert!(Locale::find("xx").is_none() && Locale::find("").is_none());
    }
}
