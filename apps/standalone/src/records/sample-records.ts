import type { Deployment, Machine, Workflow } from '@runledger/contracts/catalogue/records';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { FixedVersion } from '@runledger/gateway/records/catalogue/catalogue';
import { NUMBERS, PALETTE } from '../sample/render-inputs.ts';
import { SEAHORSE_VALLEY } from '../sample/render-scene.ts';

/** The name of the sample in the executor's allow-list. */
export const SAMPLE_PROGRAM = 'render-image';
/** The GPU of the sample, and of the simulated slots of a machine without a GPU. */
export const SAMPLE_GPU: GpuModel = 'A10G';

/** The `type` of the machine record of a standalone. */
export const STANDALONE_MACHINE = 'standalone';

export interface SampleIds {
  readonly machine_id: string;
  readonly workflow_id: string;
  readonly workflow_version_id: string;
  readonly deployment_id: string;
}

export interface SampleRecords {
  readonly machine: Machine;
  readonly workflow: Workflow;
  readonly version: FixedVersion;
  readonly deployment: Deployment;
}

/** All records that an organisation needs for the sample. */
export const sampleRecords = (
  org_id: string,
  ids: SampleIds,
  created_at: string,
  gpu: GpuModel,
): SampleRecords => {
  const workflow = { scene: { ...SEAHORSE_VALLEY } };
  const owned = { org_id, created_at };
  return {
    machine: {
      ...owned,
      id: ids.machine_id,
      name: 'this-machine',
      gpu,
      type: STANDALONE_MACHINE,
      version: '1',
      runner: { kind: 'program', program: SAMPLE_PROGRAM },
      archived: false,
    },
    workflow: { ...owned, id: ids.workflow_id, name: 'mandelbrot', archived: false },
    version: {
      ...owned,
      id: ids.workflow_version_id,
      workflow_id: ids.workflow_id,
      number: 1,
      workflow,
      inputs: [numberInput('size'), numberInput('iterations'), numberInput('seconds'), paletteInput],
    },
    deployment: {
      ...owned,
      id: ids.deployment_id,
      workflow_id: ids.workflow_id,
      workflow_version_id: ids.workflow_version_id,
      machine_id: ids.machine_id,
      name: 'mandelbrot',
      environment: 'production',
      run_timeout_s: 3600,
      start_deadline_s: 3600,
      retry: { attempts: 3 },
      archived: false,
    },
  };
};

const numberInput = (name: keyof typeof NUMBERS): FixedVersion['inputs'][number] => ({
  name,
  type: NUMBERS[name].type,
  required: false,
  default: NUMBERS[name].default,
  minimum: NUMBERS[name].minimum,
  maximum: NUMBERS[name].maximum,
  description: NUMBERS[name].description,
});

/** Without the list of its values: the program refuses others, so that anyone can try a run that fails. */
const paletteInput = { name: 'palette', type: 'string', required: false, ...PALETTE } as const;
