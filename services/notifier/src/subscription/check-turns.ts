/** Some seconds of checks, for which the other organisations wait. */
const FIRST_CHECKS = 5_000;

/**
 * In which order a round of the reconciliation checks what may be unsettled. It passes through the log several times, and each
 * organisation gets a part of each pass: so a hundred thousand of one do not delay the few of another, which lie behind them.
 */
export class CheckTurns {
  #perPass: number;
  /** The first of each organisation that the pass before left out; undefined in the first pass. */
  #begin: ReadonlyMap<string, number> | undefined;
  readonly #checked = new Map<string, number>();
  readonly #leftOut = new Map<string, number>();

  /** `firstChecks`: of one organisation in the first pass. Each pass that follows has twice as many. */
  constructor(firstChecks = FIRST_CHECKS) {
    this.#perPass = firstChecks;
  }

  /** Whether it is checked in this pass. `isFree`: without a read. To be asked once in each pass, in the order of the sequences. */
  take(org_id: string, sequence: number, isFree: boolean): boolean {
    if (this.#begin && sequence < (this.#begin.get(org_id) ?? Infinity)) return false;
    if (this.#leftOut.has(org_id)) return false;
    if (isFree) return true;
    const checked = this.#checked.get(org_id) ?? 0;
    if (checked >= this.#perPass) {
      this.#leftOut.set(org_id, sequence);
      return false;
    }
    this.#checked.set(org_id, checked + 1);
    return true;
  }

  /** The first that this pass has left out, where the next one begins; Infinity when there is none. */
  get leftOutFrom(): number {
    return Math.min(...this.#leftOut.values());
  }

  next(): void {
    this.#begin = new Map(this.#leftOut);
    this.#leftOut.clear();
    this.#checked.clear();
    this.#perPass *= 2;
  }
}
