import { isDeepStrictEqual } from 'node:util';
import { EMPTY_HISTORY, eventIdOf } from '@runledger/contracts/fold/chain';
import type { RunsIdentity } from '@runledger/event-log/read/stream-identity';
import { projectRuns, type Gap } from '@runledger/gateway/views/fold-run.decide';
import {
  beginningOf,
  projectionStart,
  withMissed,
  type Missed,
  type ProjectionPosition,
} from '@runledger/gateway/views/projection-start.decide';
import type { StoredView } from '@runledger/gateway/views/run-view';
import type { RunLog } from '../broker/run-log.ts';
import type { World } from '../broker/world.ts';
import { LogReader } from '../scheduler/log-reader.ts';
import type { Process } from '../virtual-time.ts';

/** One that is slow is behind by minutes. */
const BATCH = 4;

/** As services/gateway/src/views, in virtual time: folds RUNS into the views, message by message. */
export class Projection {
  readonly #world: World;
  readonly #reader: LogReader;
  #at: ProjectionPosition | undefined;

  constructor(world: World, process: Process) {
    this.#world = world;
    this.#reader = new LogReader(world, process, { readNext: () => this.#readNext(), batch: BATCH });
    this.onFact();
  }

  onFact(): void {
    this.#reader.wake();
  }

  /** What left the log before it came here is known to be missing from then on, until it is recovered. */
  goPastMissed(log: RunsIdentity): void {
    if (this.#at) this.#at = this.#move(this.#at, withMissed(this.#at, log));
  }

  /** But for these organisations, and unless more was missed meanwhile. */
  endMissed(missed: Missed, of: ReadonlySet<string>): void {
    if (!this.#at || !isDeepStrictEqual(this.#at.missed, missed)) return;
    this.#at = this.#move(this.#at, {
      ...this.#at,
      missed: of.size === 0 ? null : { ...missed, of: [...of] },
    });
  }

  #readNext(): boolean {
    const { log } = this.#world;
    this.#at ??= this.#begin();
    const message = log.nextFrom(this.#at.sequence + 1);
    if (!message) return false;
    if (message.sequence > this.#at.sequence + 1) this.goPastMissed(log.identity);
    this.#at = this.#project(this.#at, message);
    return true;
  }

  #begin(): ProjectionPosition {
    const { log, views } = this.#world;
    const { position } = views;
    const { identity } = log;
    const last = position && log.at(position.sequence);
    const start = projectionStart({ position, known: undefined, last }, identity);
    if (start.kind === 'continue' && position) return this.#move(position, withMissed(position, identity));
    const beginning = withMissed(beginningOf(identity, (position?.derivation ?? 0) + 1), identity);
    views.resetTo(beginning);
    return beginning;
  }

  #move(
    from: ProjectionPosition,
    to: ProjectionPosition,
    views: readonly StoredView[] = [],
  ): ProjectionPosition {
    if (this.#world.views.advance(views, from, to)) return to;
    throw new Error(`the views are not at ${from.sequence}, which was written last`);
  }

  #project(from: ProjectionPosition, message: NonNullable<ReturnType<RunLog['at']>>): ProjectionPosition {
    const { views } = this.#world;
    const facts = 'key' in message ? [message] : [];
    const present = facts.flatMap(({ key }) => views.find(key.run_id) ?? []);
    const projected = projectRuns(present, facts);
    if (projected.kind === 'newer_version') throw new Error(`${projected.type} is of a later release`);
    const read = projected.gaps.flatMap((gap) => this.#closeGap(gap));
    const to = { ...from, sequence: message.sequence, event_id: eventIdOf(message) };
    return this.#move(from, to, [...projected.views, ...read]);
  }

  /** A run whose beginning has left the log: its view, if there is one, stays as it is. */
  #closeGap({ key }: Gap): StoredView[] {
    const read = this.#world.log.read(key.run_id);
    if (read.kind !== 'whole' || !read.history.state) return [];
    return [{ head: read.history.head, run: read.history.state, webhook: EMPTY_HISTORY }];
  }
}
