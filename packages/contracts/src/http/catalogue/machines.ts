import { Type, type Static } from 'typebox';
import { GPU_MODELS } from '../../gpu.ts';
import { Runner } from '../../runners/runner-kinds.ts';
import { Archived, Name, NewName } from '../fields/names.ts';
import { NextCursor, Time, Uuid } from '../fields/values.ts';
import { optional } from '../fields/optional.ts';

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
