import { GPU_MODELS, isGpuModel, type GpuModel } from '@runledger/contracts/gpu';
import type { ConfigProblem } from '@runledger/service-kit/config/config';
import type { DetectedGpu } from './nvidia-smi.ts';

/** One GPU, which executes one run at a time. */
export interface GpuSlot {
  readonly index: number;
  readonly gpu: GpuModel;
  /** The value of `CUDA_VISIBLE_DEVICES`: an index, or the UUID of the card if it is known. */
  readonly device: string;
}

export type SlotsSetting = { ok: true; slots: GpuSlot[] } | { ok: false; problem: ConfigProblem };

/** More is a typing error: no machine has more, and every slot needs a process and an entry in the heartbeat. */
const MAX_SLOTS = 256;

/**
 * Reads `EXECUTOR_GPUS` (`A10G:2,T4:1`; a model alone counts once).
 * `visible` is the executor's own `CUDA_VISIBLE_DEVICES`: slot n then uses the n-th device named there,
 * so that two executors can share a machine. Without it devices are counted from 0.
 */
export const slotsFromSetting = (setting: string, visible?: string): SlotsSetting => {
  const models: GpuModel[] = [];
  for (const part of setting.split(',')) {
    const parsed = parsePart(part.trim());
    if ('wrong' in parsed) return problem(parsed.wrong);
    if (models.length + parsed.count > MAX_SLOTS) return problem(`names more than ${MAX_SLOTS} slots`);
    for (let n = 0; n < parsed.count; n += 1) models.push(parsed.gpu);
  }
  return slotsOnDevices(models, visible);
};

const problem = (wrong: string): SlotsSetting => ({
  ok: false,
  problem: {
    variable: 'EXECUTOR_GPUS',
    wrong,
    right:
      'entries MODEL:COUNT with commas between them, such as A10G:2,T4:1, each model one of ' +
      `${GPU_MODELS.join(', ')}, at most ${MAX_SLOTS} slots together`,
  },
});

/** The slots of the cards that `nvidia-smi` found, and the cards of unknown models. */
export const slotsFromGpus = (
  found: readonly DetectedGpu[],
  visible?: string,
): { slots: GpuSlot[]; unknown: DetectedGpu[] } => {
  const allowed =
    visible === undefined ? found : deviceList(visible).flatMap((device) => match(found, device));
  const slots: GpuSlot[] = [];
  for (const { model, uuid } of allowed)
    if (model !== null) slots.push({ index: slots.length, gpu: model, device: uuid });
  return { slots, unknown: allowed.filter(({ model }) => model === null) };
};

const parsePart = (part: string): { gpu: GpuModel; count: number } | { wrong: string } => {
  const [name = '', count = '1', ...rest] = part.split(':').map((piece) => piece.trim());
  if (part === '' || rest.length > 0) return { wrong: `has the entry ${JSON.stringify(part)}` };
  if (!isGpuModel(name))
    return { wrong: `names ${JSON.stringify(name)}, a model that the API does not know` };
  if (!/^[1-9]\d{0,2}$/.test(count)) return { wrong: `counts ${JSON.stringify(count)} of ${name}` };
  return { gpu: name, count: Number(count) };
};

const slotsOnDevices = (models: readonly GpuModel[], visible: string | undefined): SlotsSetting => {
  const devices = visible === undefined ? models.map((_, index) => String(index)) : deviceList(visible);
  const slots: GpuSlot[] = [];
  for (const [index, gpu] of models.entries()) {
    const device = devices[index];
    if (device === undefined)
      return problem(
        `has ${models.length} slots, but CUDA_VISIBLE_DEVICES has only ${devices.length} devices`,
      );
    slots.push({ index, gpu, device });
  }
  return { ok: true, slots };
};

const deviceList = (visible: string): string[] =>
  visible
    .split(',')
    .map((device) => device.trim())
    .filter((device) => device !== '');

/** CUDA accepts an index, a UUID or the beginning of a UUID. */
const match = (found: readonly DetectedGpu[], device: string): DetectedGpu[] =>
  found
    .filter(
      ({ index, uuid }) => device === String(index) || (device.startsWith('GPU-') && uuid.startsWith(device)),
    )
    .slice(0, 1);
