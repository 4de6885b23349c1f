import { headers, type Msg } from '@nats-io/transport-node';
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { maxPayloadBytes } from '@runledger/event-log/append/publish';
import { parseJson } from '@runledger/event-log/read/stored-message';

/** What is asked and answered as plain requests, from memory: nothing is stored, and nothing rests on an answer. */
export interface Endpoint<Question, Answer> {
  readonly subject: string;
  /** What is asked for, for people: "the places of runs". */
  readonly description: string;
  readonly parseRequest: (body: unknown) => Question | undefined;
  readonly parseResponse: (body: unknown) => Answer | undefined;
}

/** Reads what fits the schema; undefined for what does not. Members of a later release are kept and ignored. */
export const parserOf = <Schema extends TSchema>(
  schema: Schema,
): ((body: unknown) => Static<Schema> | undefined) => {
  const validator = Compile(schema);
  return (body) => (validator.Check(body) ? body : undefined);
};

const utf8 = new TextEncoder();
/** Of those that are answered one after the other. */
const MOST_WAITING = 500;
const MOST_BYTES = 64 * 1024;

/**
 * Answers questions one after the other until it is disposed of. `give` answers undefined to say nothing: the asker then
 * waits in vain. What it throws is logged, and the next question is answered again. When too many wait, the next asker
 * learns at once that there is no answer.
 */
export const respond = <Question, Answer>(
  log: EventLog,
  topic: Endpoint<Question, Answer>,
  give: (question: Question) => Answer | undefined | Promise<Answer | undefined>,
): Disposable => {
  const { subject, description: about } = topic;
  const reply = async (message: Msg): Promise<void> => {
    const question = topic.parseRequest(parseJson(message.data));
    if (question === undefined) {
      const bytes = message.data.byteLength;
      return log.logger.warn(
        { subject, bytes },
        `a question for ${about} does not fit its schema; it is ignored`,
      );
    }
    const given = await give(question);
    if (given === undefined) return;
    const data = utf8.encode(JSON.stringify(given));
    const most = maxPayloadBytes(log);
    if (data.byteLength <= most) message.respond(data);
    else
      log.logger.error(
        { subject, bytes: data.byteLength, most },
        `an answer about ${about} is too large to be sent`,
      );
  };
  let disposed = false;
  let waiting = 0;
  let told = false;
  let last = Promise.resolve();
  const inTurn = async (message: Msg): Promise<void> => {
    if (!disposed) {
      await reply(message).catch((error: unknown) =>
        log.logger.error({ err: error, subject }, `a question for ${about} could not be answered`),
      );
    }
    waiting -= 1;
  };
  const take = (message: Msg): void => {
    if (!isQuestion(message)) {
      if (!told)
        log.logger.warn({ subject }, `nobody asks for ${about} like that; it is ignored, and not told again`);
      told = true;
    } else if (waiting >= MOST_WAITING || message.data.byteLength > MOST_BYTES) {
      message.respond(undefined, { headers: headers(NOBODY_ANSWERS, 'too much is asked') });
    } else {
      waiting += 1;
      last = last.then(() => inTurn(message));
    }
  };
  const subscription = log.nc.subscribe(subject, {
    callback: (error, message) => {
      if (error)
        log.logger.error({ err: error, subject }, `nobody answers questions for ${about} here any more`);
      else take(message);
    },
  });
  return {
    [Symbol.dispose]: () => {
      disposed = true;
      subscription.unsubscribe();
    },
  };
};

/** With it the broker says that nobody listens, and the driver stops waiting. */
const NOBODY_ANSWERS = 503;

/**
 * Whoever asks waits for the answer in an inbox. What a consumer pushes is to be acknowledged, and no question: whoever may
 * make a consumer names any subject to push to, also one where it may not ask.
 */
const isQuestion = ({ reply }: Msg): boolean =>
  reply !== undefined && reply !== '' && !reply.startsWith('$JS.');

/** Undefined when nobody answers, none in time, or what is answered does not fit. */
export const sendRequest = async <Question, Answer>(
  log: EventLog,
  { subject, description: about, parseResponse: read }: Endpoint<Question, Answer>,
  question: Question,
  withinMs: number,
): Promise<Answer | undefined> => {
  // A client that is not connected would keep the question in memory.
  if (!log.connected()) return undefined;
  try {
    const data = utf8.encode(JSON.stringify(question));
    const message = await log.nc.request(subject, data, { timeout: withinMs });
    const given = read(parseJson(message.data));
    if (given === undefined) log.logger.warn({ subject }, `what is told of ${about} does not fit its schema`);
    return given;
  } catch (error) {
    log.logger.debug({ err: error, subject }, `${about} are not to be had`);
    return undefined;
  }
};
