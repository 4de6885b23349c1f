import type { Logger } from '@runledger/event-log/connect/observability';
import { MAX_CODE_BYTES } from '@runledger/contracts/catalogue/code';
import {
  type GatewayPlace,
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

export const codeFetcher = (settings: { readonly log: Logger }, gateway: GatewayPlace): FetchCode => {
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
export const modelFetcher =
  (settings: { readonly log: Logger }, gateway: GatewayPlace): FetchKeptModel =>
  (model, file, stop) => {
    const { part } = file;
    // No server has what would follow.
    if (part !== undefined && part.bytes >= model.bytes) Object.assign(part, noPart());
    const named = { ...file, name: `models/${model.sha256}` };
    return fetchStored(settings, gateway, named, { stop, onWaiting: () => undefined });
  };

interface StoredFile extends FileToFetch {
  /** Below the address of the attempt. */
  readonly name: string;
}

/** Fetches a file that the gateway has for an attempt, and checks its hash unless it continues a part. Waits while the gateway is unavailable. */
export const fetchStored = async (
  { log }: { readonly log: Logger },
  { about, attributes, url, token }: GatewayPlace,
  { name, ...file }: StoredFile,
  { stop, onWaiting }: FetchOptions,
): Promise<FetchedFile> => {
  const onRetry: UntilAnswered['onRetry'] = (why, level) => {
    log[level]({ ...about, why }, 'fetching a file again');
    onWaiting();
  };
  const answer = await untilAnswered({ stop, onRetry }, () =>
    requestSpan({ attributes, method: 'GET', what: 'file' }, async () => {
      const part = file.part ?? noPart();
      const request = { method: 'GET', url: url(name), token: await token(), from: part.bytes } as const;
      return requestFromGateway(request, stop, async (incoming) => {
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
