import type { AttemptGateway, GatewaySettings } from '../gateway/attempt-gateway.ts';
import { requestFromGateway } from '../gateway/gateway-request.ts';
import { requestSpan } from '../gateway/request-span.ts';
import { untilAnswered, type UntilAnswered } from '../gateway/until-answered.ts';
import type { FetchOptions } from '../assignment/fetch-body.ts';
import { nameInDisposition } from './core/input-name.ts';
import { notFetched, type FetchedFile } from './fetched-file.ts';
import { saveBody, TooLarge } from './save-body.ts';

export interface FileToFetch {
  /** The name of the input, for messages. */
  readonly input: string;
  /** Where the file goes. */
  readonly path: string;
  readonly maxBytes: number;
}

/** Fetches a file that a client uploaded from the gateway, and checks its hash. Waits while the gateway is unavailable. */
export const fetchUpload = async (
  { log }: Pick<GatewaySettings, 'log'>,
  { assignment, url, token }: AttemptGateway,
  id: string,
  { input, path, maxBytes }: FileToFetch,
  { stop, onWaiting }: FetchOptions,
): Promise<FetchedFile> => {
  const { run_id, attempt } = assignment;
  const onRetry: UntilAnswered['onRetry'] = (why, level) => {
    log[level]({ run_id, attempt, why }, 'fetching a file again');
    onWaiting();
  };
  const request = { method: 'GET', url: url(`files/${id}`), token: await token() } as const;
  const answer = await untilAnswered({ stop, onRetry }, () =>
    requestSpan({ assignment, method: 'GET', what: 'file' }, () =>
      requestFromGateway(request, stop, async (incoming) => {
        const { etag, 'content-disposition': disposition, 'content-type': type = '' } = incoming.headers;
        try {
          const { bytes, sha256 } = await saveBody(incoming, path, maxBytes);
          if (etag !== `"${sha256}"`) throw new Error('the file did not arrive as the gateway has it');
          return { kind: 'saved' as const, bytes, filename: nameInDisposition(disposition), type };
        } catch (error) {
          if (error instanceof TooLarge) return { kind: 'too_large' as const };
          throw error;
        }
      }),
    ),
  );
  switch (answer.kind) {
    case 'stopped':
      return answer;
    case 'not_current':
      return notFetched(`The file of input ${input} cannot be fetched: ${answer.why}.`, true);
    case 'refused':
      return notFetched(`The file of input ${input} cannot be fetched: ${answer.detail}`, false);
    case 'ok':
      if (answer.body.kind === 'too_large') return notFetched(tooLarge(input, maxBytes), false);
      return {
        kind: 'fetched',
        bytes: answer.body.bytes,
        filename: answer.body.filename,
        content_type: answer.body.type,
      };
  }
};

export const tooLarge = (input: string, maxBytes: number): string =>
  `The file of input ${input} has more than ${maxBytes} bytes, which are left of what the files of a run may have on this executor (EXECUTOR_INPUT_MAX_BYTES).`;
