import type { Logger } from '@runledger/event-log/connect/logger';
import type { Context, Middleware } from 'koa';
import { drainRequestBody } from './drain-request-body.ts';
import { responseTo, type Refusal } from '../http/refusal.ts';
import { refusalOf } from './refusal-of.ts';
import { requestOf } from '../http/request-context.ts';
import { COMMON_HEADERS } from '../http/response-headers.ts';

/** Whatever happens inside, a client gets an answer in our form. */
export const answerProblems =
  (logger: Logger, headers = COMMON_HEADERS): Middleware =>
  async (ctx, next) => {
    const { request_id } = requestOf(ctx);
    ctx.set(headers);
    ctx.set('X-Request-Id', request_id);
    try {
      await next();
    } catch (error) {
      const problem = refusalOf(error);
      if (problem.kind === 'internal') logger.error({ err: error, request_id }, 'a request failed');
      else if (problem.kind === 'unavailable') {
        logger.warn({ err: error, request_id }, 'a request could not be served now');
      }
      answer(ctx, problem);
    }
    drainRequestBody(ctx.req, ctx.res);
  };

const answer = (ctx: Context, problem: Refusal): void => {
  const { status, detail, headers } = responseTo(problem);
  if (ctx.res.headersSent) {
    ctx.res.destroy();
    return;
  }
  ctx.status = status;
  ctx.set(headers);
  ctx.body = { detail };
};
