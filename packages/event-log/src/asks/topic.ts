import type { Msg } from '@nats-io/transport-node';
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { EventLog } from '../event-log.ts';
import { mostBytes } from '../publish.ts';
import { parseJson } from '../stored-message.ts';

/** What is asked and answered as plain requests, from memory: nothing is stored, and nothing rests on an answer. */
export interface Topic<Question, Answer> {
  readonly subject: string;
  /** What is asked for, for people: "the places of runs". */
  readonly about: string;
  readonly question: (body: unknown) => Question | undefined;
  readonly answer: (body: unknown) => Answer | undefined;
}

/** Reads what fits the schema; undefined for what does not. Members of a later release are kept and ignored. */
export const fitting = <Schema extends TSchema>(
  schema: Schema,
): ((body: unknown) => Static<Schema> | undefined) => {
  const validator = Compile(schema);
  return (body) => (validator.Check(body) ? body : undefined);
};

const utf8 = new TextEncoder();

/**
 * Answers questions one after the other until it is disposed of. `give` answers undefined to say nothing: the asker then
 * waits in vain. What it throws is logged, and the next question is answered again.
 */
export const answer = <Question, Answer>(
  log: EventLog,
  topic: Topic<Question, Answer>,
  give: (question: Question) => Answer | undefined | Promise<Answer | undefined>,
): Disposable => {
  const { subject, about } = topic;
  const reply = async (message: Msg): Promise<void> => {
    const question = topic.question(parseJson(message.data));
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
    const most = mostBytes(log);
    if (data.byteLength <= most) message.respond(data);
    else
      log.logger.error(
        { subject, bytes: data.byteLength, most },
        `an answer about ${about} is too large to be sent`,
      );
  };
  const subscription = log.nc.subscribe(subject);
  const answering = async (): Promise<void> => {
    for await (const message of subscription) {
      await reply(message).catch((error: unknown) =>
        log.logger.error({ err: error, subject }, `a question for ${about} could not be answered`),
      );
    }
  };
  // A subscription that the broker refuses ends the loop.
  answering().catch((error: unknown) =>
    log.logger.error({ err: error, subject }, `nobody answers questions for ${about} here any more`),
  );
  return { [Symbol.dispose]: () => subscription.unsubscribe() };
};

/** Undefined when nobody answers, none in time, or what is answered does not fit. */
export const ask = async <Question, Answer>(
  log: EventLog,
  { subject, about, answer: read }: Topic<Question, Answer>,
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
