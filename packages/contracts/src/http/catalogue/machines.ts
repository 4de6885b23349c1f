import { Type, type Static } from 'typebox';
import { GpuModel, GpuName } from '../../gpu.ts';
import { Runner } from '../../catalogue/runners.ts';
import { Archived, Name, NewName, MachineUuid, OrganisationUuid, CreatedAt, NextCursor } from '../fields.ts';
import { optional, unchanged } from '../../schemas.ts';

const MachineType = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'Your own word, such as the kind of host. Runs show it as machine_type.',
  examples: ['comfyui'],
});

const NewGpu = {
  ...GpuName,
  description:
    'The GPU model of runs when neither the run nor its deployment names one: any name, as EXECUTOR_GPUS of an executor names it, or CPU. Upper and lower case mean the same. Runs for a model that no executor has wait until their start deadline, and say so.',
};

export const Machine = Type.Object(
  {
    id: MachineUuid,
    org_id: OrganisationUuid,
    name: Name,
    gpu: {
      ...GpuModel,
      description: 'The GPU model of runs when neither the run nor its deployment names one, in upper case.',
    },
    type: MachineType,
    version: Type.String({
      description: 'A number. It increases when gpu, type or runner change. Runs show it as machine_version.',
      examples: ['1'],
    }),
    runner: Runner,
    archived: Archived,
    created_at: CreatedAt,
  },
  {
    title: 'Machine',
    description: 'A kind of host: a GPU model, and how a workflow is executed there.',
  },
);
export type Machine = Static<typeof Machine>;

export const NewMachine = Type.Object(
  {
    name: NewName,
    gpu: NewGpu,
    type: optional(MachineType, 'The kind of the runner when it is null or omitted.'),
    runner: Runner,
  },
  {
    title: 'NewMachine',
    description: 'Without type, the kind of the runner.',
    examples: [{ name: 'studio', gpu: 'A10G', runner: { kind: 'program', program: 'render-image' } }],
  },
);

export const MachineChange = Type.Object(
  {
    name: unchanged(NewName),
    gpu: unchanged(NewGpu),
    type: unchanged(MachineType),
    runner: optional(Runner, 'How it executes a workflow. Unchanged when it is null or omitted.'),
    archived: unchanged(Archived),
  },
  {
    title: 'MachineChange',
    description: 'Omitted members stay unchanged.',
    examples: [{ name: 'studio' }],
  },
);

export const MachinePage = Type.Object(
  { machines: Type.Array(Machine, { description: 'The newest first.' }), next_cursor: NextCursor },
  { title: 'MachinePage', description: 'A page of machines.' },
);

export const MachinePath = Type.Object({ machine_id: MachineUuid });
