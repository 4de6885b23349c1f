import { Type, type Static } from 'typebox';
import { GPU_MODELS } from '../../gpu.ts';
import { Archived, Name, NewName } from '../fields/names.ts';
import { NextCursor, Time, Uuid } from '../fields/values.ts';
import { optional } from '../fields/optional.ts';

const ProgramRunner = Type.Object(
  {
    kind: Type.Literal('program'),
    program: Type.String({
      minLength: 1,
      maxLength: 128,
      description: "A name in each executor's own list of programs that it may run; never a command.",
    }),
  },
  { title: 'ProgramRunner' },
);

const ComfyuiRunner = Type.Object(
  {
    kind: Type.Literal('comfyui'),
    url: optional(
      Type.String({
        format: 'uri',
        pattern: '^[hH][tT][tT][pP][sS]?://[^/?#@]+(?:[/?#]|$)',
        maxLength: 2048,
        description:
          'Where the executor finds ComfyUI: an absolute http or https URL. Its own setting when left out.',
        'x-refusal': {
          type: 'url_parsing',
          msg: 'Input should be a valid URL: absolute, http or https, without credentials, of at most 2048 characters',
        },
      }),
    ),
  },
  { title: 'ComfyuiRunner' },
);

const Runner = Type.Union([ProgramRunner, ComfyuiRunner], {
  title: 'Runner',
  description: 'How a machine executes a workflow.',
});

const MachineType = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'A word of yours, such as the kind of the host. Runs show it as machine_type.',
});

const Gpu = Type.Enum([...GPU_MODELS], {
  description: 'For runs that name none, of deployments that name none.',
});

export const Machine = Type.Object(
  {
    id: Uuid,
    org_id: Uuid,
    name: Name,
    gpu: Gpu,
    type: MachineType,
    version: Type.String({
      description: 'Counts up when gpu, type or runner change. Runs show it as machine_version.',
    }),
    runner: Runner,
    archived: Archived,
    created_at: Time,
  },
  { title: 'Machine' },
);
export type Machine = Static<typeof Machine>;

export const NewMachine = Type.Object(
  {
    name: NewName,
    gpu: Gpu,
    type: optional(MachineType),
    runner: Runner,
  },
  { title: 'NewMachine', description: 'type is the kind of the runner when it is left out.' },
);

export const MachineChange = Type.Object(
  {
    name: optional(NewName),
    gpu: optional(Gpu),
    type: optional(MachineType),
    runner: optional(Runner),
    archived: optional(Archived),
  },
  { title: 'MachineChange', description: 'What is left out stays as it is.' },
);

export const MachinePage = Type.Object(
  { machines: Type.Array(Machine), next_cursor: NextCursor },
  { title: 'MachinePage' },
);

export const MachinePath = Type.Object({ machine_id: Uuid });
