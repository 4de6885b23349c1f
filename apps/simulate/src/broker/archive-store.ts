import type { Timeline } from '../time/timeline.ts';
import type { LoggedMessage } from './run-log.ts';

/** How long it takes to store and to read something, at most: as a rule, and while it is slow. */
const DELAY_MS = 50;
const SLOW_MS = 45_000;

/** A range that somebody archives. Nobody else does while the archive has this revision. */
export interface Claim {
  readonly upTo: number;
  readonly revision: number;
}

interface ArchivePosition {
  /** Up to where the log is archived, or lost. */
  readonly sequence: number;
  readonly revision: number;
  /** Up to where somebody began to archive it. */
  readonly claimed: number | undefined;
}

/** What left the log, with the position up to which it is archived: as services/gateway/src/archive, without segments. */
export class ArchiveStore {
  readonly #timeline: Timeline;
  readonly #runs = new Map<string, LoggedMessage[]>();
  #sequence = 0;
  #revision = 0;
  #claimed: number | undefined;
  #downUntil = 0;
  #slowUntil = 0;
  onSealed: (messages: readonly LoggedMessage[]) => void = () => undefined;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  get position(): ArchivePosition {
    return { sequence: this.#sequence, revision: this.#revision, claimed: this.#claimed };
  }

  messagesOf(run_id: string): readonly LoggedMessage[] {
    return this.#runs.get(run_id) ?? [];
  }

  /** Of which it has a message behind the sequence. */
  runsBehind(sequence: number): string[] {
    const runs = [...this.#runs].filter(([, messages]) => (messages.at(-1)?.sequence ?? 0) > sequence);
    return runs.map(([run_id]) => run_id);
  }

  /** Undefined when another one has moved the position since. */
  claim(upTo: number, revision: number): Claim | undefined {
    if (revision !== this.#revision) return undefined;
    this.#revision += 1;
    this.#claimed = upTo;
    return { upTo, revision: this.#revision };
  }

  /** The messages count from then on. They are all that the log had in the claimed range. */
  seal({ upTo, revision }: Claim, messages: readonly LoggedMessage[]): void {
    if (revision !== this.#revision) return;
    for (const message of messages) {
      const { run_id } = message.key;
      this.#runs.set(run_id, [...this.messagesOf(run_id), message]);
    }
    this.#moveTo(upTo);
    this.onSealed(messages);
  }

  /** What was before the log's first message is lost, unless it is archived or somebody archives it. */
  passLost(firstSequence: number): void {
    if (this.#claimed === undefined && this.#sequence < firstSequence - 1) this.#moveTo(firstSequence - 1);
  }

  #moveTo(sequence: number): void {
    this.#revision += 1;
    this.#sequence = sequence;
    this.#claimed = undefined;
  }

  fail(forMs: number): void {
    this.#downUntil = Math.max(this.#downUntil, this.#timeline.now + forMs);
  }

  slow(forMs: number): void {
    this.#slowUntil = Math.max(this.#slowUntil, this.#timeline.now + forMs);
  }

  get isDown(): boolean {
    return this.#downUntil > this.#timeline.now;
  }

  /** How long an object is under way. */
  delayMs(fraction: number): number {
    return fraction * (this.#slowUntil > this.#timeline.now ? SLOW_MS : DELAY_MS);
  }
}
