import type { Assign } from '../decisions/decision.ts';
import type { Moment } from './before-decision.ts';
import { passedOver } from './passed-over.ts';
import { Passes } from './passes.ts';
import { sharingsAt } from './sharing.ts';
import type { Circumstances } from './waits-beside-slot.ts';

/** Judges assignments one after the other: each slot goes to whom it belongs by weight (ADR 73). */
export class Fairness {
  readonly #passes = new Passes();

  /** What is wrong with the assignment, in words. `moment`: before it. */
  problemOf(moment: Moment, assign: Assign, circumstances: Circumstances): string | undefined {
    const sharings = sharingsAt(moment, assign, circumstances);
    const beyond = sharings.flatMap((sharing) => this.#passes.start(sharing) ?? []);
    return passedOver(sharings, assign, circumstances) ?? beyond[0];
  }

  /** Slots may have been given away that were not judged. */
  forget(): void {
    this.#passes.forget();
  }
}
