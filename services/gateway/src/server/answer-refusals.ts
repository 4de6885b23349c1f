import { statusOf } from '@runledger/contracts/http/refusals/refusal-codes';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { Context, Middleware } from 'koa';
import { responseTo, type RefusalResponse } from '../http/refusal-responses.ts';
import { requestOf } from '../http/request-context.ts';
import { drainRequestBody } from './drain-request-body.ts';
import { refusalOf, type KnownFailure } from './refusal-of.ts';

export interface AnswerRefusals {
  readonly logger: Logger;
  /** On every response. */
  readonly headers: Readonly<Record<string, string>>;
  readonly failures: readonly KnownFailure[];
}

/** The client gets a response in the form of the API for everything that is thrown inside. */
export const answerRefusals =
  ({ logger, headers, failures }: AnswerRefusals): Middleware =>
  async (ctx, next) => {
    const { request_id } = requestOf(ctx);
    ctx.set(headers);
    ctx.set('X-Request-Id', request_id);
    try {
      await next();
    } catch (error) {
      const refusal = refusalOf(error, failures);
      if (refusal.code === 'internal_error') logger.error({ err: error, request_id }, 'a request failed');
      else if (statusOf(refusal.code) === 503) {
        logger.warn({ err: error, request_id }, 'a request could not be served now');
      }
      answer(ctx, responseTo(refusal, request_id));
    }
    drainRequestBody(ctx.req, ctx.res);
  };

const answer = (ctx: Context, { status, headers, body }: RefusalResponse): void => {
  if (ctx.res.headersSent) {
    ctx.res.destroy();
    return;
  }
  ctx.status = status;
  ctx.set(headers);
  ctx.body = body;
};
