//! The kinds of values that are redacted, with the words they leave in their place.
//!
//! Invariant: the list is closed, its words are metric labels, and a kind that says more stands
//! before one that says less: where two cover the same text, the first names it. Next stop: `find`.

/// What kind of value it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A PEM or PGP block of a private key.
    PrivateKey,
    /// The id of an AWS access key; it also names who holds it.
    AwsAccessKey,
    /// An AWS secret key, or the signature of a presigned address.
    AwsSecretKey,
    /// A Google API key or OAuth token.
    GoogleKey,
    /// An Azure storage key or the signature of a shared address.
    AzureKey,
    /// An Aliyun access key.
    AliyunKey,
    /// A Tencent Cloud secret id.
    TencentKey,
    /// A Hugging Face token.
    HfToken,
    /// A Weights & Biases key.
    WandbKey,
    /// A GitHub token.
    GithubToken,
    /// A GitLab token.
    GitlabToken,
    /// A Slack token.
    SlackToken,
    /// An Anthropic key.
    AnthropicKey,
    /// A key in OpenAI's form, which others use too.
    OpenaiKey,
    /// A JSON web token.
    Jwt,
    /// The credentials of an `Authorization` header, or what follows `Bearer`.
    Authorization,
    /// The password in `scheme://user:password@host`.
    UrlPassword,
    /// The value of `api_key`, `access_key` and their like.
    ApiKey,
    /// The value of `secret`, `client_secret` and their like.
    Secret,
    /// The value of `token`, `access_token` and their like.
    Token,
    /// The value of `password`, `passwd`, `passphrase`, `pwd`.
    Password,
    /// An e-mail address.
    Email,
    /// An IPv4 or IPv6 address.
    Ip,
    /// The name in `/home/NAME` or `/Users/NAME`.
    Home,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Kind; 24] = [
        Kind::PrivateKey,
        Kind::AwsAccessKey,
        Kind::AwsSecretKey,
        Kind::GoogleKey,
        Kind::AzureKey,
        Kind::AliyunKey,
        Kind::TencentKey,
        Kind::HfToken,
        Kind::WandbKey,
        Kind::GithubToken,
        Kind::GitlabToken,
        Kind::SlackToken,
        Kind::AnthropicKey,
        Kind::OpenaiKey,
        Kind::Jwt,
        Kind::Authorization,
        Kind::UrlPassword,
        Kind::ApiKey,
        Kind::Secret,
        Kind::Token,
        Kind::Password,
        Kind::Email,
        Kind::Ip,
        Kind::Home,
    ];

    /// The word in metrics and in what is left of the value. It holds no digit.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::PrivateKey => "private_key",
            Kind::AwsAccessKey => "aws_access_key",
            Kind::AwsSecretKey => "aws_secret_key",
            Kind::GoogleKey => "google_key",
            Kind::AzureKey => "azure_key",
            Kind::AliyunKey => "aliyun_key",
            Kind::TencentKey => "tencent_key",
            Kind::HfToken => "hf_token",
            Kind::WandbKey => "wandb_key",
            Kind::GithubToken => "github_token",
            Kind::GitlabToken => "gitlab_token",
            Kind::SlackToken => "slack_token",
            Kind::AnthropicKey => "anthropic_key",
            Kind::OpenaiKey => "openai_key",
            Kind::Jwt => "jwt",
            Kind::Authorization => "authorization",
            Kind::UrlPassword => "url_password",
            Kind::ApiKey => "api_key",
            Kind::Secret => "secret",
            Kind::Token => "token",
            Kind::Password => "password",
            Kind::Email => "email",
            Kind::Ip => "ip",
            Kind::Home => "home",
        }
    }
}
