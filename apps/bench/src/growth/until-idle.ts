import { setTimeout as pause } from 'node:timers/promises';
import { usedSince } from '../measures/used-since.ts';
import type { MeasuredStandalone } from '../system/measured-standalone.ts';

const LOOK_EVERY_MS = 1_000;
/** The processes of an idle standalone use a part of it. */
const IDLE_MS = 300;
const IDLE_WITHIN_MS = 1_200_000;

/** Waits until what follows facts is done, such as views: then its processes use little. @throws when that takes 20 minutes */
export const untilIdle = async (system: MeasuredStandalone): Promise<void> => {
  const deadline = performance.now() + IDLE_WITHIN_MS;
  for (let idle = false; !idle;) {
    if (performance.now() > deadline)
      throw new Error('the standalone is busy 20 minutes after it was filled');
    const used = usedSince(system);
    await pause(LOOK_EVERY_MS);
    idle = used().total < IDLE_MS;
  }
};
