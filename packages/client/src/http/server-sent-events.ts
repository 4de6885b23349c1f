import { RunledgerError } from '../errors.ts';

export interface ServerSentEvent {
  /** `message` for an event without a name; empty for a comment. */
  readonly event: string;
  /** The last id that was received, with this event or before; undefined before the first. */
  readonly id: string | undefined;
  readonly data: string;
}

/** In characters. The last fact of a run holds its outputs. */
const MAX_EVENT_LENGTH = 4 * 1024 * 1024;

/**
 * Finds the events in the pieces of a stream as the HTML standard describes it:
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export class EventParser {
  /** The time after which the service wants a client to connect again; undefined when it did not say. */
  retryMs: number | undefined;
  readonly #comments: boolean;
  #rest = '';
  #skipsLineFeed = false;
  #event = '';
  #id: string | undefined;
  #data: string[] = [];
  #length = 0;

  /** `comments`: whether they are events too. The service sends one every 15 s, which shows that it still answers. */
  constructor({ comments = false }: { readonly comments?: boolean } = {}) {
    this.#comments = comments;
  }

  /** @throws RunledgerError for an event that is too long */
  feed(piece: string): ServerSentEvent[] {
    // The end of a line may be divided between two pieces.
    const text = this.#skipsLineFeed && piece.startsWith('\n') ? piece.slice(1) : piece;
    if (piece !== '') this.#skipsLineFeed = piece.endsWith('\r');
    const lines = `${this.#rest}${text}`.split(/\r\n|\r|\n/);
    this.#rest = lines.pop() ?? '';
    const events = lines.flatMap((line) => this.#take(line));
    if (this.#length + this.#rest.length > MAX_EVENT_LENGTH)
      throw new RunledgerError(
        `The service sent an event of more than ${MAX_EVENT_LENGTH} characters, which is refused. Read the run with runs.get instead.`,
      );
    return events;
  }

  #take(line: string): ServerSentEvent[] {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return this.#comments ? [{ event: '', id: this.#id, data: line.slice(1).trim() }] : [];
    const [field, value] =
      colon === -1 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
    if (field === 'event') this.#event = value;
    else if (field === 'data') {
      this.#data.push(value);
      this.#length += value.length + 1;
    } else if (field === 'id' && !value.includes('\0')) this.#id = value;
    else if (field === 'retry' && /^\d{1,6}$/.test(value)) this.retryMs = Number(value);
    return [];
  }

  #dispatch(): ServerSentEvent[] {
    const event = { event: this.#event || 'message', id: this.#id, data: this.#data.join('\n') };
    const isEmpty = this.#data.length === 0;
    this.#event = '';
    this.#data = [];
    this.#length = 0;
    return isEmpty ? [] : [event];
  }
}
