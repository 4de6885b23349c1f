import type { ConsumerInfo } from '@nats-io/jetstream';
import { createInbox, nanos, NatsConnectionImpl, type Msg, type Subscription } from '@nats-io/transport-node';
import type { EventLog } from '../connect/event-log.ts';
import { DeliveredMessage } from '../read/stored-message.ts';

interface PullRequest {
  /** At most so many messages. */
  readonly messages: number;
  /** Delivers what the consumer has, and ends then. Otherwise it delivers also what comes, until it is used up. */
  readonly once: boolean;
}

/** Pulls of one consumer, one after the other. What comes late for one belongs to the next. */
export interface Pulls extends Disposable {
  send(request: PullRequest): void;
  /** What has come since the last call, at least one message. None when the pull has ended. @throws what ended it */
  next(): Promise<readonly DeliveredMessage[]>;
  /** Ends the pull. */
  readonly stop: () => void;
}

/** Also how long a message stays unread that was lost on its way while nothing came behind it. */
const PULL_FOR_MS = 10_000;
/** A broker that misses two of these counts as lost. */
const IDLE_HEARTBEAT_MS = 2_000;
/** We look as often. Two looks may lie between two heartbeats, of which one came just before and one just after them. */
const SILENT_LOOKS = 3;

// Status codes of nats-server: https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-37.md
const HEARTBEAT = 100;
const NOTHING_LEFT = 404;
const EXPIRED = 408;
const NO_RESPONDERS = 503;

/** One subscription with a callback takes all that is delivered: an iterator would cost a promise for each message. */
export const openPulls = (log: EventLog, consumer: ConsumerInfo): Pulls => new ConsumerPulls(log, consumer);

class ConsumerPulls implements Pulls {
  readonly #log: EventLog;
  readonly #inbox: string;
  readonly #subject: string;
  readonly #subscription: Subscription;
  readonly #heartbeats: NodeJS.Timeout;
  #received: DeliveredMessage[] = [];
  #arrival = Promise.withResolvers<void>();
  #pull = { number: 0, left: 0, once: false };
  #isOver = true;
  #failure: unknown;
  #silentLooks = 0;

  constructor(log: EventLog, { stream_name, name }: ConsumerInfo) {
    const { nc, apiPrefix } = log;
    this.#log = log;
    this.#inbox = `${createInbox(inboxPrefixOf(log))}.`;
    this.#subject = `${apiPrefix}.CONSUMER.MSG.NEXT.${stream_name}.${name}`;
    this.#subscription = nc.subscribe(`${this.#inbox}*`, {
      callback: (error, message) => this.#receive(error, message),
    });
    void this.#subscription.closed.then(() => this.stop());
    this.#heartbeats = setInterval(() => this.#look(), IDLE_HEARTBEAT_MS);
  }

  send({ messages, once }: PullRequest): void {
    this.#pull = { number: this.#pull.number + 1, left: messages, once };
    this.#isOver = false;
    this.#silentLooks = 0;
    this.#heartbeats.refresh();
    const request = {
      batch: messages,
      expires: nanos(PULL_FOR_MS),
      idle_heartbeat: nanos(IDLE_HEARTBEAT_MS),
      ...(once && { no_wait: true }),
    };
    this.#log.nc.publish(this.#subject, JSON.stringify(request), { reply: this.#inbox + this.#pull.number });
  }

  async next(): Promise<readonly DeliveredMessage[]> {
    while (!this.#isOver && (this.#pull.once || this.#received.length === 0)) {
      await this.#arrival.promise;
      this.#arrival = Promise.withResolvers();
    }
    const messages = this.#received;
    this.#received = [];
    if (messages.length === 0 && this.#failure !== undefined) throw this.#failure;
    return messages;
  }

  readonly stop = (): void => this.#end(undefined);

  [Symbol.dispose](): void {
    clearInterval(this.#heartbeats);
    if (!this.#log.nc.isClosed()) this.#subscription.unsubscribe();
  }

  #receive(error: Error | null, message: Msg): void {
    this.#silentLooks = 0;
    if (error !== null) return this.#end(error);
    if (message.subject.startsWith(this.#inbox)) return this.#takeStatus(message);
    try {
      this.#received.push(new DeliveredMessage(message));
    } catch (invalid) {
      return this.#end(invalid);
    }
    this.#pull.left -= 1;
    if (this.#pull.left === 0) this.#isOver = true;
    this.#arrival.resolve();
  }

  #takeStatus({ subject, headers }: Msg): void {
    const isOfEarlierPull = subject !== this.#inbox + this.#pull.number;
    if (isOfEarlierPull || headers === undefined || headers.code === HEARTBEAT) return;
    const { code, description } = headers;
    const isUsual = code === NOTHING_LEFT || code === EXPIRED;
    this.#end(
      isUsual ? undefined : new Error(`the broker ended a pull: ${code} ${description || reasonOf(code)}`),
    );
  }

  #look(): void {
    // A reconnect tells more.
    if (this.#isOver || !this.#log.connected()) return;
    this.#silentLooks += 1;
    if (this.#silentLooks === SILENT_LOOKS) this.#end(new Error('the broker missed its heartbeats'));
  }

  #end(failure: unknown): void {
    this.#isOver = true;
    this.#failure ??= failure;
    this.#arrival.resolve();
  }
}

const inboxPrefixOf = ({ nc }: EventLog): string | undefined =>
  nc instanceof NatsConnectionImpl ? nc.options.inboxPrefix : undefined;

/** Of a status without a description: a consumer that was created at another broker may not be known here for a moment. */
const reasonOf = (code: number): string => (code === NO_RESPONDERS ? 'no responders' : 'without a reason');
