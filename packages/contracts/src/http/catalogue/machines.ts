import { Type, type Static } from 'typebox';
import { GpuModel } from '../../gpu.ts';
import { Runner } from '../../runners/runner-kinds.ts';
import { GpuName } from '../fields/gpu-name.ts';
import { Archived, Name, NewName } from '../fields/names.ts';
import { NextCursor, Time, Uuid } from '../fields/values.ts';
import { optional } from '../fields/optional.ts';

const MachineType = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'Your own word, such as the kind of host. Runs show it as machine_type.',
});

const NewGpu = {
  ...GpuName,
  description:
    'The GPU model of runs when neither the run nor its deployment names one: any name, as EXECUTOR_GPUS of an executor names it, or CPU. Upper and lower case mean the same. Runs for a model that no executor has wait until their start deadline, and say so.',
};

export const Machine = Type.Object(
  {
    id: Uuid,
    org_id: Uuid,
    name: Name,
    gpu: GpuModel,
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
    gpu: NewGpu,
    type: optional(MachineType),
    runner: Runner,
  },
  { title: 'NewMachine', description: 'Without type, the kind of the runner.' },
);

export const MachineChange = Type.Object(
  {
    name: optional(NewName),
    gpu: optional(NewGpu),
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
