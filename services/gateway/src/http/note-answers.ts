import type { Logger } from '@runledger/event-log/connect/logger';
import type { Context } from 'koa';
import { requestOf } from './request-context.ts';

export interface NotedAnswers {
  /** `operation` is its id, or the pattern of a plain route's path. */
  readonly onResponse: (operation: string, status: number, seconds: number) => void;
  readonly logger: Logger;
}

/** Counts and logs a response. */
export type NoteAnswer = (
  request: Context['req'],
  answered: {
    readonly method: string;
    readonly route: string;
    readonly operation: string;
    readonly status: number;
    readonly client_ip: string | undefined;
    readonly org_id: unknown;
    readonly ms: number;
  },
) => void;

export const noteAnswers =
  ({ onResponse, logger }: NotedAnswers): NoteAnswer =>
  (req, { operation, ms, ...answered }) => {
    onResponse(operation, answered.status, ms / 1000);
    const { request_id } = requestOf({ req });
    logger.debug({ request_id, ...answered, ms: Math.round(ms) }, 'answered');
  };
