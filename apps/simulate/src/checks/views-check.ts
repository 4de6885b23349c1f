import { acceptMessage, EMPTY_HISTORY } from '@runledger/contracts/fold/chain';
import { readChain } from '@runledger/contracts/fold/read-chain';
import { isDeleted, isEnded, type EndedRun, type RunState } from '@runledger/contracts/fold/run';
import { READ_CHAIN, type Stored } from '../broker/run-log.ts';
import type { World } from '../broker/world.ts';
import { messagesOf } from '../gateway/archiver.ts';
import { foldRest, isArchiveDown, visibleRun } from '../gateway/visible-run.ts';
import { runOf } from '../plan/ids.ts';
import type { Violate } from './violation.ts';

const POLL_MS = 1_000;

/** What clients are shown of runs whose facts leave the log. An end is lost when views, log and archive together do not show it. */
export class ViewsCheck {
  readonly #world: World;
  readonly #violate: Violate;
  /** The first end of a run that was shown. */
  readonly #shown = new Map<string, string>();
  /** Of runs whose end was lost, and that were ended again: all their ends. */
  readonly #ends = new Map<string, readonly string[]>();

  constructor(world: World, violate: Violate) {
    this.#world = world;
    this.#violate = violate;
    if (world.archive) world.archive.onStored = (run_id) => this.#onArchived(run_id);
    this.#poll();
  }

  /** The run is ended again: whether nobody can know any more that it has ended. */
  isLost({ message }: Stored): boolean {
    const { run_id } = message.key;
    const before = this.#endsOf(run_id);
    if (before.some((end) => this.#isKnown(run_id, end))) return false;
    const again = acceptMessage(READ_CHAIN, EMPTY_HISTORY, message);
    this.#ends.set(run_id, [...before, describe(again.kind === 'accepted' ? again.state : undefined)]);
    return true;
  }

  /** Views and archive never had it, and the log has no beginning of it any more: nobody can say anything about it. */
  isForgotten(run_id: string): boolean {
    return !this.#world.views.find(run_id) && !this.#readAll(run_id);
  }

  /** What is wrong with the views when they should have everything. */
  problem(): string | undefined {
    const { log, views } = this.#world;
    for (const run_id of log.runs) {
      const view = views.find(run_id)?.run;
      const is = this.#endsOf(run_id);
      if (is.includes(describe(view)) || this.isForgotten(run_id)) continue;
      return `${nameOf(run_id)} is ${is.join(' and ')}, and its view says ${describe(view)} although nothing is wrong`;
    }
    return undefined;
  }

  #endsOf(run_id: string): readonly string[] {
    return this.#ends.get(run_id) ?? [describe(this.#world.log.historyOf(run_id).state)];
  }

  #isKnown(run_id: string, end: string): boolean {
    const view = this.#world.views.find(run_id);
    const rest = view && foldRest(view, messagesOf(this.#world, run_id));
    return [view?.run, rest?.run, this.#readAll(run_id)].some((run) => describe(run) === end);
  }

  /** By archive and log. */
  #readAll(run_id: string): RunState | undefined {
    const read = readChain(READ_CHAIN, messagesOf(this.#world, run_id));
    return read.kind === 'whole' ? read.history.state : undefined;
  }

  /** An archive that was slow may have had an end under way. */
  #onArchived(run_id: string): void {
    const [first] = this.#ends.get(run_id) ?? [];
    if (first && this.#isKnown(run_id, first))
      this.#violate('ends-once', `${nameOf(run_id)} was ended again, and then its first end was archived`);
  }

  #poll(): void {
    for (const run_id of this.#world.log.runs) this.#look(run_id);
    this.#world.timeline.after(POLL_MS, () => this.#poll());
  }

  #look(run_id: string): void {
    const run = visibleRun(this.#world, run_id);
    if (run === undefined && isArchiveDown(this.#world, run_id)) return;
    const before = this.#shown.get(run_id);
    const now = describe(run);
    if (before !== undefined && before !== now) {
      if (!this.#isKnown(run_id, before)) this.#shown.delete(run_id);
      else
        this.#violate('reads-never-go-back', `${nameOf(run_id)} was shown as ${before}, and now as ${now}`);
    }
    if (endOf(run)) this.#shown.set(run_id, now);
  }
}

const nameOf = (run_id: string): string => `run ${runOf(run_id)}`;

const endOf = (run: RunState | undefined): EndedRun | undefined =>
  run && !isDeleted(run) && isEnded(run) ? run : undefined;

const describe = (run: RunState | undefined): string => {
  const end = endOf(run);
  return end ? `${end.status} (${end.end_reason}, ${end.ended_at})` : (run?.status ?? 'unknown');
};
