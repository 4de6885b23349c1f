import { Type, type Static } from 'typebox';
import { FILE_INPUT_TYPES } from '../../catalogue/file-inputs.ts';
import { Json } from '../../json-schemas.ts';
import { MAX_SECRET_LENGTH, MIN_SECRET_LENGTH } from '../../limits.ts';
import { Archived } from '../fields/names.ts';
import { NextCursor, Time, Uuid } from '../fields/values.ts';
import { optional } from '../fields/optional.ts';

const InputType = Type.Enum(['string', 'integer', 'number', 'boolean', 'array', ...FILE_INPUT_TYPES], {
  description:
    'The value of `file`, `image`, `audio` and `video` is the id of an uploaded file, an http or https URL that the executor fetches, or a data URL. The workflow gets the name of the file in its input folder.',
});
const InputName = Type.String({ minLength: 1, maxLength: 256 });
const Listed = Type.Union([Type.String(), Type.Number()], {
  'x-refusal': { type: 'string_type', msg: 'Input should be a valid string or number' },
});
const NodeId = Type.String({ minLength: 1, maxLength: 128 });
const NodeField = Type.String({ minLength: 1, maxLength: 256 });
const Description = Type.String({ maxLength: 1024 });

const InputDefinition = Type.Object(
  {
    name: InputName,
    type: InputType,
    required: Type.Boolean(),
    secret: Type.Optional(Type.Literal(true)),
    default: Type.Optional(Json),
    enum: Type.Optional(Type.Array(Listed)),
    minimum: Type.Optional(Type.Number()),
    maximum: Type.Optional(Type.Number()),
    node: Type.Optional(NodeId),
    field: Type.Optional(NodeField),
    description: Type.Optional(Description),
  },
  { title: 'InputDefinition' },
);

export const NewInputDefinition = Type.Object(
  {
    name: InputName,
    type: InputType,
    required: optional(
      Type.Boolean({
        default: false,
        description: 'A run that leaves it out is refused, unless it has a default.',
      }),
    ),
    secret: optional(
      Type.Boolean({
        default: false,
        description: `Of an input of type string without \`default\` and \`enum\`: its values have ${MIN_SECRET_LENGTH} to ${MAX_SECRET_LENGTH} characters, are sealed before they are stored, shown as null to everybody, and masked in logs.`,
      }),
    ),
    default: Type.Optional(
      Type.Unsafe<Static<typeof Json>>({
        description:
          "A value of the input's type, which a run gets that leaves the input out. Null counts as omitted.",
      }),
    ),
    enum: optional(
      Type.Array(Listed, {
        minItems: 1,
        maxItems: 256,
        description: 'The values that an input of type string, integer or number may have.',
      }),
    ),
    minimum: optional(
      Type.Number({ description: 'The lowest value of an input of type integer or number.' }),
    ),
    maximum: optional(Type.Number({ description: 'The highest one.' })),
    node: optional({
      ...NodeId,
      description: 'Of a ComfyUI workflow: the id of the node that takes the value. Needs `field`.',
    }),
    field: optional({ ...NodeField, description: 'The input of that node, such as `seed`.' }),
    description: optional(Description),
  },
  {
    title: 'NewInputDefinition',
    description:
      'Runs whose inputs do not fit are refused with 422. Inputs without a definition are passed on.',
  },
);
export type NewInputDefinition = Static<typeof NewInputDefinition>;

const about = {
  id: Uuid,
  org_id: Uuid,
  workflow_id: Uuid,
  number: Type.Integer({
    minimum: 1,
    description: '1 for the first version of a workflow, then 2, 3, without a gap.',
  }),
  sha256: Type.String({
    pattern: '^[0-9a-f]{64}$',
    description: 'The SHA-256 of the workflow as JSON text, in hexadecimal digits.',
  }),
  bytes: Type.Integer({ minimum: 1, description: 'The size of the workflow as JSON text.' }),
  inputs: Type.Array(InputDefinition),
  archived: Archived,
  created_at: Time,
};

const AnyWorkflow = Type.Unsafe<Static<typeof Json>>({
  description: 'Any JSON value that the runner understands.',
});

export const WorkflowVersion = Type.Object(
  { ...about, workflow: AnyWorkflow },
  { title: 'WorkflowVersion', description: 'Only archived ever changes.' },
);
export type WorkflowVersion = Static<typeof WorkflowVersion>;

const ListedVersion = Type.Object(about, {
  title: 'ListedWorkflowVersion',
  description: 'Without the workflow itself.',
});
export type ListedVersion = Static<typeof ListedVersion>;

export const NewWorkflowVersion = Type.Object(
  {
    workflow: Type.Unsafe<Static<typeof Json>>({
      description:
        'Any JSON value that the runner understands. At most 512 KiB as JSON, nested at most 32 levels.',
    }),
    inputs: optional(
      Type.Array(NewInputDefinition, {
        maxItems: 256,
        description: 'Each name once; together at most 64 KiB as JSON.',
      }),
    ),
  },
  { title: 'NewWorkflowVersion' },
);

export const WorkflowVersionChange = Type.Object(
  { archived: optional(Archived) },
  {
    title: 'WorkflowVersionChange',
    description: 'Nothing else of a version can change. Create a new version instead.',
  },
);

export const WorkflowVersionPage = Type.Object(
  { versions: Type.Array(ListedVersion), next_cursor: NextCursor },
  { title: 'WorkflowVersionPage' },
);

export const WorkflowVersionPath = Type.Object({ workflow_id: Uuid, version_id: Uuid });
