import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { EventLog } from '../connect/event-log.ts';
import type { FollowOptions, Following } from './following.ts';
import type { Publication, Published } from './publish.ts';

/** The messages of RUNS. `append` and `readRun` need no more than these. */
export interface RunMessages {
  /**
   * Atomic: the message is stored only if the last one under the fence's filter is the expected one, and once, also
   * when it is published several times under its id. @throws {LogUnavailable} @throws {LogFull} @throws {EventTooLarge}
   */
  publish(message: Publication): Promise<Published>;
  /**
   * The last message of each subject under a filter. May lack what was stored a moment ago, and has nothing that a later read
   * of the last message may lack. @throws {LogUnavailable}
   */
  lastOfEachSubject(filter: string): Promise<readonly StoredMessage[]>;
  /** The last message under a filter: never older than an acknowledgement. @throws {LogUnavailable} */
  last(filter: string): Promise<StoredMessage | undefined>;
  /** The first message under a filter, from this sequence on. @throws {LogUnavailable} */
  next(filter: string, from: number): Promise<StoredMessage | undefined>;
  /**
   * The message at this sequence; undefined when the log does not hold it. The stream's leader may be a moment behind the reader that
   * it was delivered to; then this waits. @throws {LogUnavailable}
   */
  at(sequence: number): Promise<StoredMessage | undefined>;
}

/** The log in memory: the messages, and how to follow them. */
export interface HeldMessages extends RunMessages {
  /** @throws {PositionBeyondEnd} */
  follow(options: FollowOptions): Promise<Following>;
}

/** A log that runs are appended to and read from: on JetStream, or in memory for tests of one use case. */
export type RunLog = Pick<EventLog, 'logger' | 'observer'> & (EventLog | { readonly messages: HeldMessages });
