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
      description: 'A name in the allow-list of each executor, never a command.',
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
          'The address of ComfyUI for the executor: an absolute http or https URL. Without it, the setting of the executor.',
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
  description: 'Your own word, such as the kind of host. Runs show it as machine_type.',
});

const Gpu = Type.Enum([...GPU_MODELS], {
  description: 'The GPU of runs when neither the run nor its deployment names one.',
});

export const Machine = Type.Object(
  {
    id: Uuid,
    org_id: Uuid,
    name: Name,
    gpu: Gpu,
    type: MachineType,
    version: Type.String({
      description: 'Increases when gpu, type or runner change. Runs show it as machine_version.',
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
  { title: 'NewMachine', description: 'Without type, the kind of the runner.' },
);

export const MachineChange = Type.Object(
  {
    name: optional(NewName),
    gpu: optional(Gpu),
    type: optional(MachineType),
    runner: optional(Runner),
    archived: optional(Archived),
  },
  { title: 'MachineChange', description: 'Omitted members stay unchanged.' },
);

export const MachinePage = Type.Object(
  { machines: Type.Array(Machine), next_cursor: NextCursor },
  { title: 'MachinePage' },
);

export const MachinePath = Type.Object({ machine_id: Uuid });
