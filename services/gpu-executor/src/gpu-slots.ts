import { CPU, GPU_MODEL_RULE, parseGpuModel, type GpuModel } from '@runledger/contracts/gpu';
import type { ConfigProblem } from '@runledger/service-kit/config';
import type { DetectedGpu } from './nvidia-smi.ts';

/** A place for one run at a time: a card, a part of one, or none. */
export interface GpuSlot {
  readonly index: number;
  readonly gpu: GpuModel;
  /**
   * The value of `CUDA_VISIBLE_DEVICES`: an index, or the UUID of the card if it is known. Slots on one card have the
   * same. Empty for a slot that uses no card, so that its runs see none.
   */
  readonly device: string;
  /** Where programs find the libraries of the driver; left out when the linker knows, or without a card. */
  readonly libraries?: readonly string[];
}

export type SlotsSetting = { ok: true; slots: GpuSlot[] } | { ok: false; problem: ConfigProblem };

/** More is a typing error: no machine has more, and every slot needs a process and an entry in the heartbeat. */
const MAX_SLOTS = 256;

/**
 * Reads `EXECUTOR_GPUS`: entries `MODEL:CARDS`, or `MODEL:CARDSxSLOTS` with several slots on each card. A model alone is
 * one card. `visible` is the executor's own `CUDA_VISIBLE_DEVICES`: card n is then the n-th device named there, so that two
 * executors can share a machine. Without it devices are counted from 0. `CPU` uses no card.
 */
export const slotsFromSetting = (setting: string, visible?: string): SlotsSetting => {
  const entries: Entry[] = [];
  for (const part of setting.split(',')) {
    const entry = parseEntry(part.trim());
    if ('wrong' in entry) return problem(entry.wrong);
    entries.push(entry);
  }
  const count = entries.reduce((sum, { cards, slots }) => sum + cards * slots, 0);
  if (count > MAX_SLOTS) return problem(`names ${count} slots`);
  return slotsOnDevices(entries, visible);
};

interface Entry {
  readonly gpu: GpuModel;
  readonly cards: number;
  /** On each card. */
  readonly slots: number;
}

const problem = (wrong: string): SlotsSetting => ({
  ok: false,
  problem: {
    variable: 'EXECUTOR_GPUS',
    wrong,
    right:
      'entries MODEL:CARDS with commas between them, such as A10G:2,T4:1, or MODEL:CARDSxSLOTS for several slots on each ' +
      `card, such as RTX4090:1x3; a model has ${GPU_MODEL_RULE}, and is CPU for slots without a card; ` +
      `at most ${MAX_SLOTS} slots together`,
  },
});

/** The slots of the cards that `nvidia-smi` found, and the cards without a usable name. */
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

const parseEntry = (text: string): Entry | { wrong: string } => {
  const [name = '', counts = '1', ...rest] = text.split(':').map((piece) => piece.trim());
  if (text === '' || rest.length > 0) return { wrong: `has the entry ${JSON.stringify(text)}` };
  const gpu = parseGpuModel(name);
  if (gpu === undefined) return { wrong: `has the model ${JSON.stringify(name)}` };
  const [, cards, slots = '1'] = /^([1-9]\d{0,2})(?:[xX]([1-9]\d{0,2}))?$/.exec(counts) ?? [];
  if (cards === undefined) return { wrong: `counts ${JSON.stringify(counts)} of ${name}` };
  return { gpu, cards: Number(cards), slots: Number(slots) };
};

const NO_DEVICE = '';

const slotsOnDevices = (entries: readonly Entry[], visible: string | undefined): SlotsSetting => {
  const named = visible === undefined ? undefined : deviceList(visible);
  const slots: GpuSlot[] = [];
  let cards = 0;
  for (const entry of entries) {
    for (let card = 0; card < entry.cards; card += 1) {
      const device = entry.gpu === CPU ? NO_DEVICE : (named?.[cards] ?? String(cards));
      if (entry.gpu !== CPU) cards += 1;
      for (let n = 0; n < entry.slots; n += 1) slots.push({ index: slots.length, gpu: entry.gpu, device });
    }
  }
  if (named && named.length < cards)
    return problem(`has more cards (${cards}) than CUDA_VISIBLE_DEVICES has devices (${named.length})`);
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
