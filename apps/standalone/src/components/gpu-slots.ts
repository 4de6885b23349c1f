import type { GpuModel } from '@runledger/contracts/gpu';
import { detectGpus } from '@runledger/gpu-executor/nvidia-smi';
import { SAMPLE_GPU } from '../records/sample-records.ts';
import { firstModel } from '../settings/settings.ts';

/** The slots that this machine will offer. */
export interface Slots {
  /** `EXECUTOR_GPUS` for the executor; left out where it finds its own. */
  readonly setting: Record<string, string>;
  /** A model among them, for the sample. */
  readonly model: GpuModel;
  /** There is no GPU behind them, so a setting that hides GPUs does not concern them. */
  readonly standIns: boolean;
  /** For the banner. */
  readonly words: string;
}

/** What the person set, else the GPUs of this machine, else two stand-ins of the sample's model. */
export const chooseSlots = async (given: string | undefined): Promise<Slots> => {
  if (given !== undefined)
    return {
      setting: { EXECUTOR_GPUS: given },
      model: firstModel(given) ?? SAMPLE_GPU,
      standIns: false,
      words: `${given} (EXECUTOR_GPUS)`,
    };
  const detection = await detectGpus();
  const models = detection.kind === 'found' ? detection.gpus.flatMap(({ model }) => model ?? []) : [];
  const [first] = models;
  if (first !== undefined)
    return { setting: {}, model: first, standIns: false, words: `${counted(models)} (nvidia-smi)` };
  const setting = `${SAMPLE_GPU}:2`;
  return {
    setting: { EXECUTOR_GPUS: setting },
    model: SAMPLE_GPU,
    standIns: true,
    words: `${setting}, stand-ins: no GPU of a known model was found here`,
  };
};

const counted = (models: readonly GpuModel[]): string =>
  [...Map.groupBy(models, (model) => model)].map(([model, all]) => `${model}:${all.length}`).join(',');
