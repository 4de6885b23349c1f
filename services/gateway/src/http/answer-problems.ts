import { EventTooLarge } from '@runledger/event-log/append';
import { LogUnavailable } from '@runledger/event-log/event-log';
import type { Logger } from '@runledger/event-log/logger';
import type { Context, Middleware } from 'koa';
import { OutputStoreUnavailable } from '../outputs/output-store.ts';
import { lingerOver } from './linger.ts';
import { answerTo, Refused, type Problem } from './problem.ts';
import { requestOf } from './request-context.ts';
import { COMMON_HEADERS } from './response-headers.ts';

/** Whatever happens inside, a client gets an answer in our form. */
export const answerProblems =
  (logger: Logger): Middleware =>
  async (ctx, next) => {
    const { request_id } = requestOf(ctx);
    ctx.set(COMMON_HEADERS);
    ctx.set('X-Request-Id', request_id);
    try {
      await next();
    } catch (error) {
      const problem = problemOf(error);
      if (problem.kind === 'internal') logger.error({ err: error, request_id }, 'a request failed');
      else if (problem.kind === 'unavailable') {
        logger.warn({ err: error, request_id }, 'a request could not be served now');
      }
      answer(ctx, problem);
    }
  };

const problemOf = (error: unknown): Problem => {
  if (error instanceof Refused) return error.problem;
  if (error instanceof LogUnavailable) {
    return {
      kind: 'unavailable',
      why: 'The log of runs cannot be reached now. Try again; what a request set off may or may not have been done',
    };
  }
  if (error instanceof OutputStoreUnavailable) {
    return { kind: 'unavailable', why: 'The store of output files cannot be reached now. Try again' };
  }
  if (error instanceof EventTooLarge) {
    return { kind: 'too_large', why: 'The run does not fit an event of the log: send smaller inputs' };
  }
  return { kind: 'internal', why: 'An error of ours; the log of the service has it under the X-Request-Id' };
};

const answer = (ctx: Context, problem: Problem): void => {
  const { status, detail, headers } = answerTo(problem);
  if (ctx.res.headersSent) {
    ctx.res.destroy();
    return;
  }
  ctx.status = status;
  ctx.set(headers);
  ctx.body = { detail };
  lingerOver(ctx.req, ctx.res);
};
