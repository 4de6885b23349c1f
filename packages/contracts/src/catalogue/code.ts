import { Type, type Static } from 'typebox';
import { Sha256 } from '../blobs.ts';

/** What a folder may be when it is packed: the archive as it is stored, and what it is unpacked to. Weights have a way of their own. */
export const MAX_CODE_BYTES = 64 * 1024 ** 2;
export const MAX_UNPACKED_CODE_BYTES = 256 * 1024 ** 2;
export const MAX_CODE_FILES = 10_000;

/** The code of a version: an archive (tar, compressed with zstd), stored in order as blobs of the organisation in WORKFLOWS. */
export const StoredCode = Type.Object({
  /** Of the archive. */
  sha256: Sha256,
  bytes: Type.Integer({ minimum: 1, maximum: MAX_CODE_BYTES }),
  pieces: Type.Array(Sha256, { minItems: 1 }),
  /** What of the machine executes it; left out where it is executed itself. */
  server: Type.Optional(Type.Literal('comfyui')),
});
export type StoredCode = Static<typeof StoredCode>;

/** A path below the folder, with `/` between its parts, and no way out of it. */
const PATH = '^(?!/)(?!(?:.*/)?\\.\\.?(?:/|$))[^\\u0000-\\u001f\\u007f\\\\]{1,512}$';
export const PathInFolder = Type.String({ pattern: PATH });
const ONLY = { additionalProperties: false };
/** The name of a variable, and of a secret. */
export const VARIABLE = '^[A-Za-z_][A-Za-z0-9_]{0,127}$';
/** Variables with secrets that a version may have. */
export const MAX_SECRETS = 32;

/** Whether an executor sets the variable itself. */
export const isReservedVariable = (variable: string): boolean =>
  variable.startsWith('RUNLEDGER_') ||
  ['CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER', 'TMPDIR', '__proto__'].includes(variable);

/** Weights that an executor fetches from where they are. */
export const ModelAtUrl = Type.Object(
  {
    /** https, or http where the executor's policy allows it; or `s3://bucket/key`, with the variables that tools of S3 have. */
    url: Type.String({ pattern: '^(?:https?://|s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/.)', maxLength: 2048 }),
    sha256: Sha256,
    /** Of the request, to this origin only. `${NAME}` in a value stands for the variable of `secrets`. */
    headers: Type.Optional(
      Type.Record(
        Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$" }),
        Type.String({ pattern: '^[\\x20-\\x7e]*$', maxLength: 4096 }),
        { ...ONLY, maxProperties: 16 },
      ),
    ),
  },
  { additionalProperties: false },
);
export type ModelAtUrl = Static<typeof ModelAtUrl>;

/** Weights that the gateway keeps for the organisation. */
export const KeptModel = Type.Object(
  { sha256: Sha256, bytes: Type.Integer({ minimum: 1 }) },
  { additionalProperties: false },
);
export type KeptModel = Static<typeof KeptModel>;

/** A file that is fetched for a machine once: model weights. */
export const ModelFile = Type.Union([ModelAtUrl, KeptModel]);
export type ModelFile = Static<typeof ModelFile>;

export const isKeptModel = (model: ModelFile): model is KeptModel => !('url' in model);
/** Custom nodes of ComfyUI: a folder of the code, or an archive with one folder (tar with gzip or zstd, or zip). */
export const CustomNode = Type.Union([
  Type.Object({ path: PathInFolder }, ONLY),
  Type.Object({ url: ModelAtUrl.properties.url, sha256: Sha256 }, ONLY),
]);
export type CustomNode = Static<typeof CustomNode>;

/** They become folders of these names, as ComfyUI loads them. It skips what ends in `.disabled`. */
export const CUSTOM_NODE_NAME = '^(?!.*\\.(?:disabled|DISABLED)$)[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$';
export const MAX_CUSTOM_NODES = 64;

/** What a ComfyUI server of the executor is made of, and the prompt that each run is. */
export const ComfyuiManifest = Type.Object(
  {
    /** In ComfyUI's API format, or the body that its page sends. */
    workflow: Type.Record(Type.String(), Type.Unknown()),
    custom_nodes: Type.Optional(
      Type.Record(Type.String({ pattern: CUSTOM_NODE_NAME }), CustomNode, {
        ...ONLY,
        maxProperties: MAX_CUSTOM_NODES,
      }),
    ),
  },
  ONLY,
);
export type ComfyuiManifest = Static<typeof ComfyuiManifest>;

/**
 * What an executor makes of the code of a version. It is the workflow of such a version, so its hash covers the code and all that is said here.
 * Exactly one of `run`, `command` and `comfyui` says what is executed.
 */
export const CodeManifest = Type.Object(
  {
    /** Of the archive. */
    code_sha256: Sha256,
    /** A function that stays loaded between runs: `predict.py:predict`, or `predict.mjs:predict` for Node. */
    run: Type.Optional(
      Type.String({
        pattern:
          '^(?!/)(?!(?:.*/)?\\.\\.?/)[^\\u0000-\\u001f\\u007f\\\\:]{1,512}\\.(?:py|mjs|js):[A-Za-z_][A-Za-z0-9_]{0,127}$',
      }),
    ),
    /** A program and its arguments, started in the folder. The first is a name on PATH, or a path below the folder such as `./run.sh`. */
    command: Type.Optional(Type.Array(Type.String({ maxLength: 4096 }), { minItems: 1, maxItems: 64 })),
    /** A workflow for ComfyUI, with its custom nodes. The Python and its packages then are those of the machine's ComfyUI. */
    comfyui: Type.Optional(ComfyuiManifest),
    /** Of a command: one process for each run, which is the default, or one that stays. */
    mode: Type.Optional(Type.Enum(['once', 'resident'])),
    /** Such as `3.11`; that of the machine when it is left out. */
    python: Type.Optional(Type.String({ pattern: '^3\\.\\d{1,2}$' })),
    /** What is installed: a `requirements.txt`, a `pyproject.toml` with or without `uv.lock`, or a `package.json` with its lock. */
    requirements: Type.Optional(PathInFolder),
    env: Type.Optional(
      Type.Record(Type.String({ pattern: VARIABLE }), Type.String({ maxLength: 32_768 }), ONLY),
    ),
    /** Variables with secrets of the organisation, by their names: the values are not part of a version. */
    secrets: Type.Optional(
      Type.Record(Type.String({ pattern: VARIABLE }), Type.String({ pattern: VARIABLE }), {
        ...ONLY,
        maxProperties: MAX_SECRETS,
      }),
    ),
    /** By their paths in `$RUNLEDGER_MODELS`, or below ComfyUI's folder of models. */
    models: Type.Optional(Type.Record(Type.String({ pattern: PATH }), ModelFile, ONLY)),
    /** Of a process that stays: seconds until it is ready, and until it is ended without a run; and how many runs it has. */
    start_timeout_s: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 7 * 24 * 3_600 })),
    idle_timeout_s: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 7 * 24 * 3_600 })),
    max_runs: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  {
    additionalProperties: false,
    oneOf: [{ required: ['run'] }, { required: ['command'] }, { required: ['comfyui'] }],
  },
);
export type CodeManifest = Static<typeof CodeManifest>;

/** What a client of HTTP says itself of each request, or what would change its meaning. */
const OWN_HEADERS = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'if-range',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'range',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** In the value of a header of a model. */
const SECRET_IN_HEADER = /\$\{([^}]*)\}/g;

/** The value as it is sent. A variable without a value stays as it is written. */
export const headerWith = (value: string, variables: Readonly<Record<string, string>>): string =>
  value.replaceAll(SECRET_IN_HEADER, (written, name: string) =>
    Object.hasOwn(variables, name) ? (variables[name] ?? written) : written,
  );

interface ManifestProblem {
  /** Of the member. */
  readonly path: readonly string[];
  /** Begins a sentence. */
  readonly why: string;
}

/** What is wrong with variables and headers of a manifest whose members are right alone. */
export const variableProblems = ({
  env = {},
  secrets = {},
  models = {},
}: Pick<CodeManifest, 'env' | 'secrets' | 'models'>): ManifestProblem[] => [
  ...Object.keys(secrets).flatMap((variable): ManifestProblem[] =>
    Object.hasOwn(env, variable)
      ? [{ path: ['secrets', variable], why: 'It is a variable of env too: take it out of one of them' }]
      : [],
  ),
  ...Object.entries({ env, secrets }).flatMap(([member, variables]) =>
    Object.keys(variables)
      .filter(isReservedVariable)
      .map((variable) => ({
        path: [member, variable],
        why: 'The executor sets this variable itself: take another name',
      })),
  ),
  ...Object.entries(models).flatMap(([path, file]) => headerProblems(path, file, secrets)),
];

const headerProblems = (
  path: string,
  model: ModelFile,
  secrets: Readonly<Record<string, string>>,
): ManifestProblem[] =>
  Object.entries(isKeptModel(model) ? {} : (model.headers ?? {})).flatMap(([header, value]) => {
    const at = ['models', path, 'headers', header];
    if (!isKeptModel(model) && model.url.startsWith('s3:'))
      return [{ path: at, why: 'A request to S3 is signed, and has no headers of yours: leave it out' }];
    if (OWN_HEADERS.has(header.toLowerCase()))
      return [{ path: at, why: 'The executor sets this header itself: leave it out' }];
    return [...value.matchAll(SECRET_IN_HEADER)]
      .map(([, name = '']) => name)
      .filter((name) => !Object.hasOwn(secrets, name))
      .map((name) => ({
        path: at,
        why: `\${${name}} is no variable of secrets: add ${name || 'NAME'} to secrets, or write the value that you mean`,
      }));
  });
