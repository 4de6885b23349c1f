import { Type, type Static } from 'typebox';
import { Json } from '../../json-schemas.ts';
import { Archived } from '../fields/names.ts';
import { NextCursor, Time, Uuid } from '../fields/values.ts';
import { optional } from '../fields/optional.ts';

const InputType = Type.Enum(['string', 'integer', 'number', 'boolean', 'array']);
const InputName = Type.String({ minLength: 1, maxLength: 256 });
const Description = Type.String({ maxLength: 1024 });

const InputDefinition = Type.Object(
  {
    name: InputName,
    type: InputType,
    required: Type.Boolean(),
    default: Type.Optional(Json),
    description: Type.Optional(Description),
  },
  { title: 'InputDefinition' },
);

export const NewInputDefinition = Type.Object(
  {
    name: InputName,
    type: InputType,
    required: optional(Type.Boolean({ default: false })),
    default: Type.Optional(
      Type.Unsafe<Static<typeof Json>>({
        description: "A value of the input's type. Null counts as omitted.",
      }),
    ),
    description: optional(Description),
  },
  { title: 'NewInputDefinition' },
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
