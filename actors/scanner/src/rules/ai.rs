//! Keys of model providers and of the tools around them.
//! Data only. A new format goes here when its prefix is the provider's own.

use super::{Rule, Rules, STRONG, TOKEN};

pub(super) static RULES: Rules = Rules::new(&[
    Rule {
        id: "openai-project-key",
        why: "OpenAI key: spends money and reads files of its project",
        keywords: &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-none-"],
        pattern: r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{40,}",
        hits: &[
            concat!("sk-admin-", "QzJXtw3XVBOsrT5mH3DaWvTrmFLHBMUAPTT0aZN0"),
            concat!("export TOKEN=\"sk-None-n", "ruqXa71P2tD8vkQXRYO1NiJ7brD03q2YBV097sh\""),
        ],
        misses: &[
            ("cut short", concat!("sk-admin-", "QzJXtw")),
            ("inside a longer word", concat!("xsk-admin-", "QzJXtw3XVBOsrT5mH3DaWvTrmFLHBMUAPTT0aZN0")),
            ("a filler", concat!("sk-admin-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "openai-key",
        why: "OpenAI key of the old form: spends its owner's money",
        keywords: &["sk-"],
        pattern: r"sk-[A-Za-z0-9]{18,20}T3BlbkFJ[A-Za-z0-9]{18,20}\b",
        hits: &[
            concat!("sk-Z", "XGqa6tcVy4DHkmLrDT3BlbkFJzq9qStxuUsNh6AV1iB"),
            concat!("export TOKEN=\"sk-8", "PP1XXxhu0bsCjxJ67T3BlbkFJ5EvQ30xyQAnudQn9nI\""),
        ],
        misses: &[
            ("cut short", concat!("sk-Z", "XGqa6")),
            ("inside a longer word", concat!("xsk-Z", "XGqa6tcVy4DHkmLrDT3BlbkFJzq9qStxuUsNh6AV1iB")),
            ("a filler", concat!("sk-x", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "sk-key",
        why: "Key in the form that OpenAI began and many providers copied",
        weight: STRONG,
        keywords: &["sk-"],
        pattern: r"sk-(?:or-v1-|lf-|live-|test-|[a-z]{2,8}-)?[A-Za-z0-9]{32,}",
        hits: &[
            concat!("sk-F", "P28UWcdYDESOKf5nsaLLSnDv40j599D"),
            concat!("export TOKEN=\"sk-t", "czwzyVrszEYX4aG8sSAXtMKNUJ64ax6\""),
        ],
        misses: &[
            ("cut short", concat!("sk-F", "P28UW")),
            ("inside a longer word", concat!("xsk-F", "P28UWcdYDESOKf5nsaLLSnDv40j599D")),
            ("a filler", concat!("sk-x", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "anthropic-api-key",
        why: "Anthropic key: spends its owner's money",
        keywords: &["sk-ant-api"],
        pattern: r"sk-ant-api\d\d-[A-Za-z0-9_-]{80,}",
        hits: &[
            concat!(
                "sk-ant-api",
                "91-WmUby6RFnCakeiouTTyPatiK27F4T3TgOLubYXrMxbyq0dvBPAG1XykIUmW7tPhd8bhBnDzu0nyj2GcL"
            ),
            concat!(
                "export TOKEN=\"sk-ant-api",
                "90-C7hRD0apSMyAusrcSLLzQ3zYCzoKn8GAw18VJSGj0wU8fXtWxQXNI7Z9kWrKnR4Ae28UZ5ErtPpwZub4\""
            ),
        ],
        misses: &[
            ("cut short", concat!("sk-ant-api", "91-WmU")),
            (
                "inside a longer word",
                concat!(
                    "xsk-ant-api",
                    "91-WmUby6RFnCakeiouTTyPatiK27F4T3TgOLubYXrMxbyq0dvBPAG1XykIUmW7tPhd8bhBnDzu0nyj2GcL"
                ),
            ),
            (
                "a filler",
                concat!(
                    "sk-ant-api",
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                ),
            ),
        ],
        ..TOKEN
    },
    Rule {
        id: "anthropic-admin-key",
        why: "Anthropic admin key: manages members and keys",
        keywords: &["sk-ant-"],
        pattern: r"sk-ant-(?:admin|oat|ort|sid)\d\d-[A-Za-z0-9_-]{40,}",
        hits: &[
            concat!("sk-ant-", "ort44-Kdi1edl0y6WU1josnTA0pkHE37AK1AsjarA7717T"),
            concat!("export TOKEN=\"sk-ant-", "sid92-iRtTFKBsH2cDE2WIOvmeUuymJpEfxSrGzZcythy2\""),
        ],
        misses: &[
            ("cut short", concat!("sk-ant-", "ort44-")),
            ("inside a longer word", concat!("xsk-ant-", "ort44-Kdi1edl0y6WU1josnTA0pkHE37AK1AsjarA7717T")),
            ("a filler", concat!("sk-ant-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "huggingface-token",
        why: "Hugging Face token: reads and writes models of its owner",
        keywords: &["hf_"],
        pattern: r"hf_[A-Za-z0-9]{32,}",
        hits: &[
            concat!("hf_i", "Vgyf0Eyf2eXfjGkldl36AWMudT8qVWt"),
            concat!("export TOKEN=\"hf_h", "6iUJ2oKdcj23vMcWYKtP4eILSs2AqNJ\""),
        ],
        misses: &[
            ("cut short", concat!("hf_i", "Vgyf0")),
            ("inside a longer word", concat!("xhf_i", "Vgyf0Eyf2eXfjGkldl36AWMudT8qVWt")),
            ("a filler", concat!("hf_x", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "huggingface-org-token",
        why: "Hugging Face organisation token",
        keywords: &["api_org_"],
        pattern: r"api_org_[A-Za-z0-9]{32,}",
        hits: &[
            concat!("api_org_", "uhC6lzq9smdCevv8BoHuvxOQMAqZe4FT"),
            concat!("export TOKEN=\"api_org_", "uVxqicHpNLNHg2bQXlhMaUmE57L9jUo4\""),
        ],
        misses: &[
            ("cut short", concat!("api_org_", "uhC6lz")),
            ("inside a longer word", concat!("xapi_org_", "uhC6lzq9smdCevv8BoHuvxOQMAqZe4FT")),
            ("a filler", concat!("api_org_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "perplexity-key",
        why: "Perplexity key: spends its owner's money",
        keywords: &["pplx-"],
        pattern: r"pplx-[A-Za-z0-9]{40,}",
        hits: &[
            concat!("pplx-", "IiHoVQIzNcXH1gD1cjOwd6w7VJMQZ6MyJwC7IZh9"),
            concat!("export TOKEN=\"pplx-", "dStnaVEADcl8sBY90wijsBugwbowwCUAa5ZBwvB2\""),
        ],
        misses: &[
            ("cut short", concat!("pplx-", "IiHoVQ")),
            ("inside a longer word", concat!("xpplx-", "IiHoVQIzNcXH1gD1cjOwd6w7VJMQZ6MyJwC7IZh9")),
            ("a filler", concat!("pplx-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "groq-key",
        why: "Groq key: spends its owner's money",
        keywords: &["gsk_"],
        pattern: r"gsk_[A-Za-z0-9]{40,}",
        hits: &[
            concat!("gsk_", "fAcO7DU45PkCp753IVDsMdRuD7Z14CkUUbnF0GMu"),
            concat!("export TOKEN=\"gsk_", "buHwrqDiaudfBXTbETSHrqng3DHI4WvNx558gKVX\""),
        ],
        misses: &[
            ("cut short", concat!("gsk_", "fAcO7D")),
            ("inside a longer word", concat!("xgsk_", "fAcO7DU45PkCp753IVDsMdRuD7Z14CkUUbnF0GMu")),
            ("a filler", concat!("gsk_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "xai-key",
        why: "xAI key: spends its owner's money",
        keywords: &["xai-"],
        pattern: r"xai-[A-Za-z0-9]{60,}",
        hits: &[
            concat!("xai-", "tHVa0eHEXwq3CZYReVMKxBi8p0gWaesv5NKTHbgjD8XNCWJXtzvCuoPDXFwe"),
            concat!("export TOKEN=\"xai-", "irh3ku3HoUnSfQRlTccUfvPOdciB20w0TVI1JSMcAdaOzUseYdVVwQ03Msm9\""),
        ],
        misses: &[
            ("cut short", concat!("xai-", "tHVa0e")),
            (
                "inside a longer word",
                concat!("xxai-", "tHVa0eHEXwq3CZYReVMKxBi8p0gWaesv5NKTHbgjD8XNCWJXtzvCuoPDXFwe"),
            ),
            ("a filler", concat!("xai-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "replicate-token",
        why: "Replicate token: runs and pays for models",
        keywords: &["r8_"],
        pattern: r"r8_[A-Za-z0-9]{36,}",
        hits: &[
            concat!("r8_b", "8ZHipt2qfHqoJwMJRIygSU72RIKbD0yg5ke"),
            concat!("export TOKEN=\"r8_7", "x5OZHonVA1LzP814hTfBTFEEhV0Fg2Xpvd8\""),
        ],
        misses: &[
            ("cut short", concat!("r8_b", "8ZHip")),
            ("inside a longer word", concat!("xr8_b", "8ZHipt2qfHqoJwMJRIygSU72RIKbD0yg5ke")),
            ("a filler", concat!("r8_x", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "langsmith-key",
        why: "LangSmith key: reads prompts and traces",
        keywords: &["lsv2_"],
        pattern: r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",
        hits: &[
            concat!("lsv2_", "sk_27a584d21b54fa8973381f412a0a4f9f_a423350b23"),
            concat!("export TOKEN=\"lsv2_", "pt_931da53f50a0be52d057e0bd04ab3005_440698c839\""),
        ],
        misses: &[
            ("cut short", concat!("lsv2_", "sk_27a")),
            ("inside a longer word", concat!("xlsv2_", "sk_27a584d21b54fa8973381f412a0a4f9f_a423350b23")),
            ("a filler", concat!("lsv2_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "nvidia-key",
        why: "NVIDIA API key: spends its owner's credit",
        keywords: &["nvapi-"],
        pattern: r"nvapi-[A-Za-z0-9_-]{50,}",
        hits: &[
            concat!("nvapi-", "vjn8oljTQcDPA0wi2kK8XXO3gi0UOv6Vgtfn4G3aFck9EvgvIF"),
            concat!("export TOKEN=\"nvapi-", "LXUTNRyECPjBSnAuxKfvI3cZoKVGSom5lSe1ZklIsPymzeLltc\""),
        ],
        misses: &[
            ("cut short", concat!("nvapi-", "vjn8ol")),
            (
                "inside a longer word",
                concat!("xnvapi-", "vjn8oljTQcDPA0wi2kK8XXO3gi0UOv6Vgtfn4G3aFck9EvgvIF"),
            ),
            ("a filler", concat!("nvapi-", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "fireworks-key",
        why: "Fireworks key: spends its owner's money",
        keywords: &["fw_"],
        pattern: r"fw_[A-Za-z0-9]{22,}",
        hits: &[
            concat!("fw_p", "paWvV82bhzo0VK3zDJyyc"),
            concat!("export TOKEN=\"fw_F", "RPX8ih5VBLJOMSX29wUJC\""),
        ],
        misses: &[
            ("cut short", concat!("fw_p", "paWvV")),
            ("inside a longer word", concat!("xfw_p", "paWvV82bhzo0VK3zDJyyc")),
            ("a filler", concat!("fw_x", "xxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "tavily-key",
        why: "Tavily search key",
        keywords: &["tvly-"],
        pattern: r"tvly-[A-Za-z0-9-]{20,}",
        hits: &[
            concat!("tvly-", "Zu9ygp6sXwW4IuIe6lAP"),
            concat!("export TOKEN=\"tvly-", "KrGrSAitGQlPAkOjCExb\""),
        ],
        misses: &[
            ("cut short", concat!("tvly-", "Zu9ygp")),
            ("inside a longer word", concat!("xtvly-", "Zu9ygp6sXwW4IuIe6lAP")),
            ("a filler", concat!("tvly-", "xxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "elevenlabs-key",
        why: "ElevenLabs key: spends its owner's money",
        keywords: &["sk_"],
        pattern: r"sk_[0-9a-f]{48}\b",
        hits: &[
            concat!("sk_5", "f63adfa395d6cff31aeea03bdba261ad590acbc5fbb5ecb"),
            concat!("export TOKEN=\"sk_9", "83b410e6f58de9b9d56191e28c2f2388dc10da5bffacefd\""),
        ],
        misses: &[
            ("cut short", concat!("sk_5", "f63ad")),
            ("inside a longer word", concat!("xsk_5", "f63adfa395d6cff31aeea03bdba261ad590acbc5fbb5ecb")),
            ("a filler", concat!("sk_x", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "pinecone-key",
        why: "Pinecone key: reads and writes stored vectors",
        keywords: &["pcsk_"],
        pattern: r"pcsk_[A-Za-z0-9_]{50,}",
        hits: &[
            concat!("pcsk_", "zsNTmy467O6HhDEhhWjWrjVREUenSRGduiVmazcqlZpDAwQ33W"),
            concat!("export TOKEN=\"pcsk_", "5BQYHpZdALFdSNQDvTX8QrUZG1odN5n5lbs9qn3jfcvjWNH8s0\""),
        ],
        misses: &[
            ("cut short", concat!("pcsk_", "zsNTmy")),
            ("inside a longer word", concat!("xpcsk_", "zsNTmy467O6HhDEhhWjWrjVREUenSRGduiVmazcqlZpDAwQ33W")),
            ("a filler", concat!("pcsk_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")),
        ],
        ..TOKEN
    },
    Rule {
        id: "privateai-key",
        why: "Private AI key by its usual name",
        crosses: true,
        reach: 200,
        keywords: &["privateai"],
        pattern: r#"privateai(?:_api)?_(?:key|token)\s*[=:]\s*"?[a-z0-9]{32}\b"#,
        hits: &[
            concat!("privateai", "_token:cp506b8j1kad8ittkpkm2mc1nwtc9z17"),
            concat!("export TOKEN=\"privateai", "_token=cd0471pe4cuhji7oyojkzi6rzaxs6auc\""),
        ],
        misses: &[
            ("another length", "privateai_api_key = \"0k3j\""),
            ("the name alone", "use the privateai_api_token variable"),
        ],
        ..TOKEN
    },
]);
