import { Type, type Static, type TObject, type TSchema, type TSchemaOptions, type TUnion } from 'typebox';
import { MAX_RUNNER_URL } from '../limits.ts';
import { optional } from '../schemas.ts';

const programChoice = Type.Object({
  kind: Type.Literal('program'),
  program: Type.String({ minLength: 1, maxLength: 128 }),
});

const programRunner = Type.Object(
  {
    kind: Type.Literal('program', { description: 'A program.' }),
    program: Type.String({
      examples: ['render-image'],
      minLength: 1,
      maxLength: 128,
      description: 'A name in the allow-list of each executor, never a command.',
    }),
  },
  { title: 'ProgramRunner', description: 'Executes a program of the executor.' },
);

/** Executes a program of the executor's allow-list. */
const program: RunnerKind<typeof programChoice, typeof programRunner> = {
  choice: programChoice,
  runner: programRunner,
  choiceOf: ({ kind, program: name }) => ({ kind, program: name }),
  capability: ({ program: name }) => name,
  label: ({ program: name }) => `program ${name}`,
  offers: ({ program: name }, shorten) => `offers program ${shorten(name)}`,
  requirement: ({ program: name }) => `has the program "${name}" in EXECUTOR_PROGRAMS`,
  setting: 'EXECUTOR_PROGRAMS',
};

const comfyuiChoice = Type.Object({ kind: Type.Literal('comfyui'), url: Type.Optional(Type.String()) });

const comfyuiRunner = Type.Object(
  {
    kind: Type.Literal('comfyui', { description: 'A ComfyUI server.' }),
    url: optional(
      Type.String({
        format: 'uri',
        examples: ['http://127.0.0.1:8188'],
        pattern: '^[hH][tT][tT][pP][sS]?://[^/?#@]+(?:[/?#]|$)',
        maxLength: MAX_RUNNER_URL,
        description:
          'Only the server with this address may execute its runs: an absolute http or https URL that the executor has in its settings.',
        'x-refusal': {
          type: 'url_parsing',
          msg: `Send a URL: absolute, http or https, without credentials, of at most ${MAX_RUNNER_URL} characters`,
        },
      }),
      'Any server when it is null or omitted.',
    ),
  },
  { title: 'ComfyuiRunner', description: 'Executes a workflow with a ComfyUI server of the executor.' },
);

/** Executes a workflow with a ComfyUI server of the executor's own settings. */
const comfyui: RunnerKind<typeof comfyuiChoice, typeof comfyuiRunner> = {
  choice: comfyuiChoice,
  runner: comfyuiRunner,
  choiceOf: ({ kind, url }) => ({ kind, ...(typeof url === 'string' ? { url } : {}) }),
  capability: () => 'runner:comfyui',
  label: ({ url }) => (url ? `comfyui ${url}` : 'comfyui'),
  offers: () => 'runs ComfyUI workflows',
  requirement: () => 'has ComfyUI servers',
  setting: 'EXECUTOR_COMFYUI',
};

/** As a program's name, but shorter: the name of the capability is not longer than that of a program may be. */
export const COG_MODEL_NAME = '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$';

const cogChoice = Type.Object({
  kind: Type.Literal('cog'),
  model: Type.String({ minLength: 1, maxLength: 64 }),
});

const cogRunner = Type.Object(
  {
    kind: Type.Literal('cog', { description: 'A model in a Cog server.' }),
    model: Type.String({
      examples: ['flux-schnell'],
      pattern: COG_MODEL_NAME,
      description: 'The name of a model server in the settings of each executor, never an address.',
    }),
  },
  { title: 'CogRunner', description: 'Executes a model with a Cog server of the executor.' },
);

/** Executes a model with a Cog server of the executor's own settings. */
export const cog: RunnerKind<typeof cogChoice, typeof cogRunner> = {
  choice: cogChoice,
  runner: cogRunner,
  choiceOf: ({ kind, model }) => ({ kind, model }),
  capability: ({ model }) => `runner:cog:${model}`,
  label: ({ model }) => `cog ${model}`,
  offers: ({ model }, shorten) => `offers the Cog model ${shorten(model)}`,
  requirement: ({ model }) => `has the model "${model}" in EXECUTOR_COG`,
  setting: 'EXECUTOR_COG',
};

const codeChoice = Type.Object({
  kind: Type.Literal('code'),
  server: Type.Optional(Type.Literal('comfyui')),
});

const codeRunner = Type.Object(
  {
    kind: Type.Literal('code', { description: 'The code of the version itself.' }),
    server: optional(
      Type.Literal('comfyui', {
        description:
          'Only for versions with a ComfyUI workflow, which a ComfyUI of the executor executes with their custom nodes and models.',
      }),
      'For all other code when it is null or omitted.',
    ),
  },
  {
    title: 'CodeRunner',
    description:
      'Executes the code that a version has: an executor fetches it, and makes its environment, by itself.',
  },
);

/** Executes the code that comes with a version. */
const code: RunnerKind<typeof codeChoice, typeof codeRunner> = {
  choice: codeChoice,
  runner: codeRunner,
  choiceOf: ({ kind, server }) => ({ kind, ...(typeof server === 'string' ? { server } : {}) }),
  capability: ({ server }) => (server === undefined ? 'runner:code' : `runner:code:${server}`),
  label: ({ server }) => (server ? 'code for ComfyUI' : 'code'),
  offers: ({ server }) =>
    server === undefined ? 'runs the code of versions' : 'runs the code of versions with a ComfyUI',
  requirement: ({ server }) =>
    server === undefined
      ? 'accepts the code of this organisation'
      : 'has a ComfyUI for the code of this organisation (EXECUTOR_COMFYUI_FOLDER)',
  setting: 'EXECUTOR_CODE',
};

/** One line for each kind of runner. */
const RUNNER_KINDS = {
  program,
  comfyui,
  cog,
  code,
};

const oneOf = <Schema extends TSchema>(schemas: Schema[], options?: TSchemaOptions): TUnion<[Schema]> =>
  // The static type of a union wants a tuple; this one has the types of all schemas.
  Type.Union(schemas as [Schema], options);

const kinds = Object.values(RUNNER_KINDS);

/** How a machine executes a workflow, in events and catalogue records. */
export const RunnerChoice = oneOf(kinds.map(({ choice }) => choice));
export type RunnerChoice = Static<typeof RunnerChoice>;

/** The same in the HTTP API. */
export const Runner = oneOf(
  kinds.map(({ runner }) => runner),
  { title: 'Runner', description: 'How a machine executes a workflow.' },
);
export type Runner = Static<typeof Runner>;

export const runnerKindOf = ({ kind }: Pick<Runner, 'kind'>): RunnerRules<RunnerChoice, Runner> =>
  RUNNER_KINDS[kind];

/** Which code of versions it executes: `code`, or the server that they are for; null for none. A machine in use keeps it. */
export const codeExecutedBy = (runner: RunnerChoice | Runner): string | null =>
  runner.kind === 'code' ? (runner.server ?? 'code') : null;

/**
 * A kind of runner that a machine can choose: everything that the services and the CLI know about it. Each kind has a line in
 * `RUNNER_KINDS`.
 */
interface RunnerKind<Choice extends TObject, Runner extends TObject> extends RunnerRules<
  Static<Choice>,
  Static<Runner>
> {
  /** A machine's choice in events and catalogue records. */
  readonly choice: Choice;
  /** The choice in requests and responses of the HTTP API. */
  readonly runner: Runner;
}

interface RunnerRules<Choice, Runner> {
  /** The choice of a request. Equal choices give equal JSON. */
  choiceOf(runner: Runner): Choice;
  /**
   * What an executor must have among its registered `programs` to execute such runs: the name of a program, or for other kinds
   * `runner:<kind>` or `runner:<kind>:<name>`, since the name of a program has no colon.
   */
  capability(choice: Choice): string;
  /** In lists: "program render". */
  label(runner: Runner): string;
  /** Follows "no executor that has one": "offers program render". `shorten` keeps a name within the limit of the sentence. */
  offers(choice: Choice, shorten: (name: string) => string): string;
  /** Follows "an executor that": "has the program "render" in EXECUTOR_PROGRAMS". */
  requirement(choice: Choice): string;
  /** The setting of the executor that gives it the capability. */
  readonly setting: string;
}
