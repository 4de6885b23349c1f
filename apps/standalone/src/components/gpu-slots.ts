import type { GpuModel } from '@runledger/contracts/gpu';
import { slotsFromSetting } from '@runledger/gpu-executor/gpu-slots';
import { detectGpus, type Detection } from '@runledger/gpu-executor/nvidia-smi';
import { SAMPLE_GPU } from '../records/sample-records.ts';
import { StartRefused } from '../settings.ts';

/** The slots of each executor. */
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

/**
 * The given slots, else the GPUs of this machine, else two simulated slots of the sample's model.
 * @throws StartRefused when several executors would each use all GPUs of this machine, which nobody has asked for
 */
export const chooseSlots = async (given: string | undefined, executors: number): Promise<Slots> => {
  const each = executors === 1 ? '' : `, for each of ${executors} executors`;
  if (given !== undefined)
    return {
      setting: { EXECUTOR_GPUS: given },
      model: firstModel(given),
      simulated: false,
      description: `${given} (EXECUTOR_GPUS)${each}`,
    };
  const detection = await detectGpus();
  const models = detection.kind === 'found' ? detection.gpus.flatMap(({ model }) => model ?? []) : [];
  const unknown = unknownCards(detection);
  const [first] = models;
  if (first !== undefined && executors > 1)
    throw new StartRefused(
      `Each of ${executors} executors would use all GPUs of this machine. Set EXECUTOR_GPUS to the slots that each shall have, ` +
        'or leave RUNLEDGER_EXECUTORS at 1.',
    );
  if (first !== undefined)
    return {
      setting: {},
      model: first,
      simulated: false,
      description: `${counted(models)} (nvidia-smi)${unknown === undefined ? '' : `; not used: ${unknown}`}`,
    };
  const setting = `${SAMPLE_GPU}:2`;
  return {
    setting: { EXECUTOR_GPUS: setting },
    model: SAMPLE_GPU,
    simulated: true,
    description: `${setting}${each}, simulated: ${unknown ?? 'nvidia-smi shows no GPU here'}`,
  };
};

/** Which cards have no name that could be a model, and what to do; undefined for none. */
const unknownCards = (detection: Detection): string | undefined => {
  if (detection.kind === 'none') return undefined;
  const { gpus, unreadable } = detection;
  const cards = [
    ...gpus.flatMap(({ model, index, name }) => (model === null ? [`card ${index} ("${name}")`] : [])),
    ...unreadable.map((line) => `"${line.slice(0, LONGEST_LINE)}"`),
  ];
  if (cards.length === 0) return undefined;
  const shown = cards.slice(0, MOST_SHOWN).join(', ') + (cards.length > MOST_SHOWN ? ' and more' : '');
  return (
    `nvidia-smi gives no usable name for ${shown}. ` +
    `To use ${cards.length === 1 ? 'it' : 'them'}, name the models of all cards, such as EXECUTOR_GPUS=MYGPU:${gpus.length + unreadable.length} npm start`
  );
};

const LONGEST_LINE = 120;
const MOST_SHOWN = 4;

/** The executor reports what is wrong with an invalid setting. */
const firstModel = (given: string): GpuModel => {
  const read = slotsFromSetting(given);
  return (read.ok ? read.slots[0]?.gpu : undefined) ?? SAMPLE_GPU;
};

const counted = (models: readonly GpuModel[]): string =>
  [...Map.groupBy(models, (model) => model)].map(([model, all]) => `${model}:${all.length}`).join(',');
