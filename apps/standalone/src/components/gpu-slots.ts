import type { GpuModel } from '@runledger/contracts/gpu';
import { slotsFromSetting } from '@runledger/gpu-executor/gpu-slots';
import { detectGpus } from '@runledger/gpu-executor/nvidia-smi';
import { SAMPLE_GPU } from '../records/sample-records.ts';

/** The slots of this machine. */
export interface Slots {
  /** `EXECUTOR_GPUS` for the executor; empty if it detects its own. */
  readonly setting: Record<string, string>;
  /** A model among them, for the sample. */
  readonly model: GpuModel;
  /** The slots have no GPU, so that settings that hide GPUs do not apply. */
  readonly simulated: boolean;
  /** For the banner. */
  readonly description: string;
}

/** The given slots, else the GPUs of this machine, else two simulated slots of the sample's model. */
export const chooseSlots = async (given: string | undefined): Promise<Slots> => {
  if (given !== undefined)
    return {
      setting: { EXECUTOR_GPUS: given },
      model: firstModel(given),
      simulated: false,
      description: `${given} (EXECUTOR_GPUS)`,
    };
  const detection = await detectGpus();
  const models = detection.kind === 'found' ? detection.gpus.flatMap(({ model }) => model ?? []) : [];
  const [first] = models;
  if (first !== undefined)
    return { setting: {}, model: first, simulated: false, description: `${counted(models)} (nvidia-smi)` };
  const setting = `${SAMPLE_GPU}:2`;
  return {
    setting: { EXECUTOR_GPUS: setting },
    model: SAMPLE_GPU,
    simulated: true,
    description: `${setting}, simulated: nvidia-smi shows no GPU here`,
  };
};

/** The executor reports what is wrong with an invalid setting. */
const firstModel = (given: string): GpuModel => {
  const read = slotsFromSetting(given);
  return (read.ok ? read.slots[0]?.gpu : undefined) ?? SAMPLE_GPU;
};

const counted = (models: readonly GpuModel[]): string =>
  [...Map.groupBy(models, (model) => model)].map(([model, all]) => `${model}:${all.length}`).join(',');
