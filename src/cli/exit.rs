//! The exit codes that scripts rely on.

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ExitCode {
    /// Done; both sides are equal.
    Done,
    /// It failed.
    Failed,
    /// Wrong usage or settings; nothing was done.
    Usage,
    /// A person is needed: a conflict, or something held.
    Attention,
    /// Some articles were refused or not ready; the rest is done.
    Partial,
    /// Try later: unreachable, over budget, a lock that is taken.
    Retry,
    /// A person broke it off: the number that a shell gives to what Ctrl-C ends.
    Interrupted,
}

impl ExitCode {
    /// Every code.
    pub const ALL: [Self; 7] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::Attention,
        Self::Partial,
        Self::Retry,
        Self::Interrupted,
    ];

    /// The number that the shell sees.
    pub const fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Attention => 3,
            Self::Partial => 4,
            Self::Retry => 5,
            Self::Interrupted => 130,
        }
    }

    /// The code of several outcomes together: the first of 2, 1, 5, 4, 3, else 0.
    ///
    /// Wrong settings keep anything from being done, so 2 never really meets another.
    pub fn worst(of: impl IntoIterator<Item = Self>) -> Self {
        of.into_iter()
            .max_by_key(|code| code.rank())
            .unwrap_or(Self::Done)
    }

    const fn rank(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Attention => 1,
            Self::Partial => 2,
            Self::Retry => 3,
            Self::Failed => 4,
            Self::Usage => 5,
            Self::Interrupted => 6,
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}

#[cfg(test)]
mod tests {
    use super::ExitCode::{self, Attention, Done, Failed, Partial, Retry, Usage};

    #[test]
    fn with_several_the_first_of_1_5_4_3_counts() {
        assert_eq!(ExitCode::worst([]), Done);
        assert_eq!(ExitCode::worst([Done, Attention]), Attention);
        assert_eq!(ExitCode::worst([Attention, Partial, Done]), Partial);
        assert_eq!(ExitCode::worst([Attention, Retry, Partial]), Retry);
        assert_eq!(ExitCode::worst([Retry, Failed, Attention]), Failed);
        assert_eq!(ExitCode::worst([Failed, Usage]), Usage);
    }

    #[test]
    fn the_numbers_are_those_of_the_design() {
        let numbers = ExitCode::ALL.map(ExitCode::number);
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 130]);
    }
}
