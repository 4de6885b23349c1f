import type { Logger } from '@runledger/event-log/connect/observability';
import { MAX_CODE_BYTES } from '@runledger/contracts/catalogue/code';
import type { Assignment } from '../attempt/assignment.decide.ts';
import {
  openAttemptGateway,
  type AttemptGateway,
  type GatewaySettings,
  requestFromGateway,
  requestSpan,
  untilAnswered,
  type UntilAnswered,
} from './attempt-gateway.ts';
import type { FetchCode, FetchKeptModel } from '../runners/runner.ts';
import type { FetchOptions } from './fetch-assigned.ts';
import {
  isTooLarge,
  noPart,
  nameInDisposition,
  notFetched,
  saveBody,
  TooLarge,
  type FetchedFile,
  type FileToFetch,
} from './input-file.ts';

export const codeFetcher = (settings: GatewaySettings, assignment: Assignment): FetchCode => {
  const gateway = openAttemptGateway(settings, assignment);
  const file = {
    name: 'code',
    maxBytes: MAX_CODE_BYTES,
    what: 'The code of the version',
    kind: 'prepare_failed',
    tooLarge: `The code of the version has more than ${MAX_CODE_BYTES} bytes, which is more than it may have.`,
  } as const;
  return (path, stop) =>
    fetchStored(settings, gateway, { ...file, path }, { stop, onWaiting: () => undefined });
};

/** What has arrived stays at the path, and the next call continues it. */
export const modelFetcher = (settings: GatewaySettings, assignment: Assignment): FetchKeptModel => {
  const gateway = openAttemptGateway(settings, assignment);
  return (model, file, stop) => {
    const { part } = file;
    // No server has what would follow.
    if (part !== undefined && part.bytes >= model.bytes) Object.assign(part, noPart());
    const named = { ...file, name: `models/${model.sha256}` };
    return fetchStored(settings, gateway, named, { stop, onWaiting: () => undefined });
  };
};

interface StoredFile extends FileToFetch {
  /** Below the address of the attempt. */
  readonly name: string;
}

/** Fetches a file that the gateway has for an attempt, and checks its hash unless it continues a part. Waits while the gateway is unavailable. */
export const fetchStored = async (
  { log }: { readonly log: Logger },
  { assignment, url, token }: AttemptGateway,
  { name, ...file }: StoredFile,
  { stop, onWaiting }: FetchOptions,
): Promise<FetchedFile> => {
  const { run_id, attempt } = assignment;
  const onRetry: UntilAnswered['onRetry'] = (why, level) => {
    log[level]({ run_id, attempt, why }, 'fetching a file again');
    onWaiting();
  };
  const request = { method: 'GET', url: url(name), token: await token() } as const;
  const answer = await untilAnswered({ stop, onRetry }, () =>
    requestSpan({ assignment, method: 'GET', what: 'file' }, () => {
      const part = file.part ?? noPart();
      return requestFromGateway({ ...request, from: part.bytes }, stop, async (incoming) => {
        const { etag, 'content-disposition': disposition, 'content-type': type = '' } = incoming.headers;
        if (incoming.statusCode !== 206) Object.assign(part, noPart());
        try {
          const { bytes, sha256 } = await saveBody(incoming, file.path, file.maxBytes, part);
          if (file.part === undefined && etag !== `"${sha256}"`)
            throw new Error('the file did not arrive as the gateway has it');
          return { kind: 'saved' as const, bytes, filename: nameInDisposition(disposition), type };
        } catch (error) {
          if (error instanceof TooLarge) return { kind: 'too_large' as const };
          throw error;
        }
      });
    }),
  );
  switch (answer.kind) {
    case 'stopped':
      return answer;
    case 'not_current':
      return notFetched(file, `${answer.why}.`, true);
    case 'refused':
      return notFetched(file, answer.detail, false);
    case 'ok':
      if (answer.body.kind === 'too_large') return isTooLarge(file);
      return {
        kind: 'fetched',
        bytes: answer.body.bytes,
        filename: answer.body.filename,
        content_type: answer.body.type,
      };
  }
};
