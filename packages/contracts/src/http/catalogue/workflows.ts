import { Type, type Static } from 'typebox';
import { FILE_INPUT_TYPES, isFileListType, type FileInputType } from '../../catalogue/workflow-inputs.ts';
import { MAX_INPUT_FILES, MAX_SECRET_LENGTH, MIN_SECRET_LENGTH } from '../../limits.ts';
import {
  enumInWords,
  Exact,
  Json,
  nullable,
  NumberOrDigits,
  optional,
  unchanged,
  type InWords,
} from '../../schemas.ts';
import {
  Archived,
  CreatedAt,
  Name,
  NewName,
  NextCursor,
  OrganisationUuid,
  VersionUuid,
  WorkflowUuid,
} from '../fields.ts';

export const Workflow = Type.Object(
  {
    id: WorkflowUuid,
    org_id: OrganisationUuid,
    name: Name,
    archived: Archived,
    created_at: CreatedAt,
  },
  { title: 'Workflow', description: 'What its versions have in common. A version has what is executed.' },
);
export type Workflow = Static<typeof Workflow>;

export const NewWorkflow = Type.Object(
  { name: NewName },
  {
    title: 'NewWorkflow',
    description: 'A workflow without versions.',
    examples: [{ name: 'portraits' }],
  },
);

export const WorkflowChange = Type.Object(
  { name: unchanged(NewName), archived: unchanged(Archived) },
  {
    title: 'WorkflowChange',
    description: 'Omitted members stay unchanged.',
    examples: [{ name: 'portraits' }],
  },
);

export const WorkflowPage = Type.Object(
  { workflows: Type.Array(Workflow, { description: 'The newest first.' }), next_cursor: NextCursor },
  { title: 'WorkflowPage', description: 'A page of workflows.' },
);

export const WorkflowPath = Type.Object({ workflow_id: WorkflowUuid });

const FILE_INPUT =
  'A file: the id of an uploaded one, an http or https URL that the executor fetches, or a data URL.';
const FILE_LIST_INPUT = `A list of such files, in order. It may be empty, unless \`min_items\` says otherwise. All inputs of a run together name at most ${MAX_INPUT_FILES} files.`;
const InputType = enumInWords(
  {
    string: 'A text.',
    integer: 'A whole number.',
    number: 'A number.',
    boolean: 'True or false.',
    array: 'A list of any values.',
    ...(Object.fromEntries(
      FILE_INPUT_TYPES.map((type) => [type, isFileListType(type) ? FILE_LIST_INPUT : FILE_INPUT]),
    ) as InWords<FileInputType>),
  },
  {
    description:
      'What values the input has. The workflow gets the name of a file in its input folder, and a list of names for a list of files.',
  },
);
const InputName = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'The name of the input in `inputs` of a run.',
  examples: ['prompt'],
});
const Listed = Type.Union([Type.String(), Type.Number(), Exact], {
  description: 'A value that the input may have.',
  examples: ['portrait'],
  'x-refusal': { type: 'string_type', msg: 'Send a text or a number' },
});
const RANDOM =
  'Of an input of type integer without `default` and `enum`, such as a seed: a run that leaves it out, or sends null, gets a random value, drawn once when the run is queued. It is from `minimum` or 0 to `maximum` or 2^53 - 1. `workflow_inputs` shows it; other attempts and reruns have the same one.';
const VALUES = 'The values that an input of type string, integer or number may have.';
const DIGITS = 'An integer that a double would change is a string of its digits.';
const MINIMUM = `The lowest value of an input of type integer or number. ${DIGITS}`;
const MAXIMUM = `The highest value of an input of type integer or number. ${DIGITS}`;
const WRONG_BOUND = {
  'x-refusal': { type: 'float_type', msg: 'Send a number, or a text of digits' },
};
const MIN_ITEMS = 'How many items an input that is a list has at least: one of type array, or of files.';
const MAX_ITEMS = 'How many items an input that is a list has at most.';
const Items = { minimum: 0, maximum: 1_000_000 };
const NODE = 'Of a ComfyUI workflow: the id of the node that takes the value.';
const NodeId = Type.String({
  minLength: 1,
  maxLength: 128,
  description: NODE,
  examples: ['6'],
});
const FIELD = 'The input of that node, such as `seed`.';
const NodeField = Type.String({
  minLength: 1,
  maxLength: 256,
  description: FIELD,
  examples: ['text'],
});
const DESCRIPTION = 'What the input is, for people.';
const Description = Type.String({
  maxLength: 1024,
  description: DESCRIPTION,
  examples: ['What the picture shows.'],
});
const Required = Type.Boolean({
  description: 'Whether a run that leaves it out is refused, unless it has a default.',
  examples: [true],
});
const DEFAULT = "A value of the input's type, which a run gets that leaves the input out.";
const ONLY = 'Only present when it was defined.';

const InputDefinition = Type.Object(
  {
    name: InputName,
    type: InputType,
    required: Required,
    secret: Type.Optional(
      Type.Literal(true, {
        description:
          'Only present for a secret input: its values are sealed before they are stored, and shown to nobody.',
      }),
    ),
    default: Type.Optional({ ...Json, description: `${DEFAULT} ${ONLY}`, examples: ['portrait'] }),
    random: Type.Optional(Type.Literal(true, { description: `${RANDOM} ${ONLY}` })),
    enum: Type.Optional(
      Type.Array(Listed, { description: `${VALUES} ${ONLY}`, examples: [['portrait', 'landscape']] }),
    ),
    minimum: Type.Optional({ ...NumberOrDigits, description: `${MINIMUM} ${ONLY}`, examples: [1] }),
    maximum: Type.Optional({ ...NumberOrDigits, description: `${MAXIMUM} ${ONLY}`, examples: [50] }),
    min_items: Type.Optional(Type.Integer({ ...Items, description: `${MIN_ITEMS} ${ONLY}`, examples: [1] })),
    max_items: Type.Optional(Type.Integer({ ...Items, description: `${MAX_ITEMS} ${ONLY}`, examples: [8] })),
    node: Type.Optional({ ...NodeId, description: `${NODE} ${ONLY}` }),
    field: Type.Optional({ ...NodeField, description: `${FIELD} ${ONLY}` }),
    description: Type.Optional({ ...Description, description: `${DESCRIPTION} ${ONLY}` }),
  },
  { title: 'InputDefinition', description: 'What values an input of a run may have.' },
);

export const NewInputDefinition = Type.Object(
  {
    name: InputName,
    type: InputType,
    required: optional({ ...Required, default: false }),
    secret: optional(
      Type.Boolean({
        default: false,
        examples: [false],
        description: `Whether it is secret. Of an input of type string without \`default\` and \`enum\`: its values have ${MIN_SECRET_LENGTH} to ${MAX_SECRET_LENGTH} characters, are sealed before they are stored, shown as null to everybody, and masked in logs.`,
      }),
    ),
    default: Type.Optional(
      Type.Unsafe<Static<typeof Json>>({
        description: `${DEFAULT} Null counts as omitted.`,
        examples: ['portrait'],
      }),
    ),
    random: optional(Type.Boolean({ default: false, description: RANDOM, examples: [true] })),
    enum: optional(
      Type.Array(Listed, {
        minItems: 1,
        maxItems: 256,
        description: VALUES,
        examples: [['portrait', 'landscape']],
      }),
    ),
    minimum: optional({ ...NumberOrDigits, ...WRONG_BOUND, description: MINIMUM, examples: [1] }),
    maximum: optional({ ...NumberOrDigits, ...WRONG_BOUND, description: MAXIMUM, examples: [50] }),
    min_items: optional(Type.Integer({ ...Items, description: MIN_ITEMS, examples: [1] })),
    max_items: optional(Type.Integer({ ...Items, description: MAX_ITEMS, examples: [8] })),
    node: optional({ ...NodeId, description: `${NODE} Needs \`field\`.` }),
    field: optional({ ...NodeField, description: `${FIELD} Needs \`node\`.` }),
    description: optional(Description),
  },
  {
    title: 'NewInputDefinition',
    description:
      'Runs whose inputs do not fit are refused with 422. Inputs without a definition are passed on, with a warning, unless `strict_inputs` of the deployment or the request refuses them. A member that a definition does not have is refused.',
  },
);
export type NewInputDefinition = Static<typeof NewInputDefinition>;

const Message = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'What is new in the version, for people.',
  examples: ['warmer colours'],
});
const Commit = Type.String({
  pattern: '^[0-9a-f]{7,64}(?:\\+changes)?$',
  description:
    'The git commit of the folder; with `+changes` when the folder had others than that commit has.',
  examples: ['1f0c9a4'],
});

const about = {
  id: VersionUuid,
  org_id: OrganisationUuid,
  workflow_id: WorkflowUuid,
  number: Type.Integer({
    minimum: 1,
    description: '1 for the first version of a workflow, then 2, 3, without a gap.',
    examples: [1],
  }),
  sha256: Type.String({
    pattern: '^[0-9a-f]{64}$',
    description: 'The SHA-256 of the workflow as JSON text, in hexadecimal digits.',
    examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
  }),
  bytes: Type.Integer({
    minimum: 1,
    description: 'The size of the workflow as JSON text, in bytes.',
    examples: [4096],
  }),
  inputs: Type.Array(InputDefinition, { description: 'The definitions of the inputs; empty without any.' }),
  code: nullable(
    Type.Object({
      sha256: Type.String({
        pattern: '^[0-9a-f]{64}$',
        description: 'The SHA-256 of the archive, in hexadecimal digits.',
        examples: ['60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752'],
      }),
      bytes: Type.Integer({ minimum: 1, description: 'The size of the archive.', examples: [2048] }),
    }),
    'The archive that the version executes, a tar compressed with zstd. Null for a version without code.',
  ),
  message: nullable(Message, 'Null without one.'),
  commit: nullable(Commit, 'Null without one.'),
  created_by: nullable(
    Type.String({
      format: 'uuid',
      description: 'The user who made it.',
      examples: ['4d5be4a0-6a3c-4b8e-9b5d-0d3a2f4b9e11'],
    }),
    'Null for a version that the installation made.',
  ),
  archived: Archived,
  created_at: CreatedAt,
};

/** One node of ComfyUI. */
const EXAMPLE_WORKFLOW = { '6': { class_type: 'CLIPTextEncode', inputs: { text: '' } } };

const AnyWorkflow = Type.Unsafe<Static<typeof Json>>({
  description: 'What is executed: any JSON value that the runner understands.',
  examples: [EXAMPLE_WORKFLOW],
});

export const WorkflowVersion = Type.Object(
  { ...about, workflow: AnyWorkflow },
  { title: 'WorkflowVersion', description: 'A version of a workflow. Only archived ever changes.' },
);
export type WorkflowVersion = Static<typeof WorkflowVersion>;

export const ListedVersion = Type.Object(about, {
  title: 'ListedWorkflowVersion',
  description: 'A version of a workflow, without the workflow itself.',
});
export type ListedVersion = Static<typeof ListedVersion>;

export const NewWorkflowVersion = Type.Object(
  {
    workflow: Type.Unsafe<Static<typeof Json>>({
      description:
        'Any JSON value that the runner understands. At most 512 KiB as JSON, nested at most 32 levels.',
      examples: [EXAMPLE_WORKFLOW],
    }),
    inputs: optional(
      Type.Array(NewInputDefinition, {
        maxItems: 256,
        description: 'The definitions of the inputs, each name once; together at most 64 KiB as JSON.',
      }),
    ),
    code: optional(
      Type.String({
        format: 'uuid',
        description:
          'The id of an uploaded file: the archive that the version executes, a tar compressed with zstd, of at most 64 MiB. The version keeps a copy of it, also when the file expires. `workflow` then is a manifest: it has `code_sha256`, and `run`, `command` or `comfyui`.',
        examples: ['0a5a0a53-8d1c-8f1e-9d6b-2f5f3a9f7c11'],
      }),
    ),
    message: optional(Message),
    commit: optional(Commit),
  },
  {
    title: 'NewWorkflowVersion',
    description: 'The next version of a workflow.',
    examples: [
      {
        workflow: EXAMPLE_WORKFLOW,
        inputs: [{ name: 'prompt', type: 'string', required: true, node: '6', field: 'text' }],
      },
    ],
  },
);

export const WorkflowVersionChange = Type.Object(
  { archived: unchanged(Archived) },
  {
    title: 'WorkflowVersionChange',
    description: 'Nothing else of a version can change. Create a new version instead.',
    examples: [{ archived: false }],
  },
);

export const WorkflowVersionPage = Type.Object(
  { versions: Type.Array(ListedVersion, { description: 'The newest first.' }), next_cursor: NextCursor },
  { title: 'WorkflowVersionPage', description: 'A page of the versions of a workflow.' },
);

export const WorkflowVersionPath = Type.Object({ workflow_id: WorkflowUuid, version_id: VersionUuid });
