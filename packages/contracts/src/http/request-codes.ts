/** One code of a refusal: one cause with one remedy. */
export interface CodeRow {
  /** The HTTP status of every refusal with the code. */
  readonly status: number;
  /** What happened: plain English, one or two sentences. */
  readonly cause: string;
  /** What to do about it. */
  readonly remedy: string;
}

/** Codes by their names, in the order of their statuses. */
export type CodeRows = Readonly<Record<string, CodeRow>>;

/** What is wrong with a request itself, whatever it asks for. */
export const REQUEST_CODES = {
  malformed_request: {
    status: 400,
    cause: 'Malformed HTTP/1.1 request: its first line, a header or its address cannot be read.',
    remedy: 'Send HTTP/1.1 with the header Host. Look for a proxy that changes requests.',
  },
  body_incomplete: {
    status: 400,
    cause:
      'The body ended early, or does not match its Content-Length or Content-Encoding. Nothing of it was stored.',
    remedy: 'Send the whole request again. Continue a resumable upload where it is.',
  },
  duplicate_member: {
    status: 400,
    cause:
      'An object of the body has a member twice, and the installation refuses that (RUNLEDGER_JSON_DUPLICATES).',
    remedy: 'Send the member once.',
  },
  credential_missing: {
    status: 401,
    cause: 'The request has no credential.',
    remedy: 'Send the header "Authorization: Bearer <API_KEY>".',
  },
  credential_invalid: {
    status: 401,
    cause: 'The API key, or the token, is unknown, expired or revoked. Which of these is not told.',
    remedy: 'Use another key, or make another token.',
  },
  scope_missing: {
    status: 403,
    cause: 'The API key, or the token, is valid and lacks the scope that the operation needs.',
    remedy: 'Use a key with the scope that the sentence names, or ask an admin of the organisation for one.',
  },
  run_token_not_enough: {
    status: 403,
    cause: 'Tokens of runs are not accepted for this.',
    remedy: 'Send an API key.',
  },
  run_token_of_another_run: {
    status: 403,
    cause: 'The token is for another run than the one that the path names.',
    remedy: 'Make a token for this run.',
  },
  path_unknown: {
    status: 404,
    cause: 'The service has no such path.',
    remedy:
      'Check the path, and that the address of the API has its base path, such as /api. The sentence names the nearest path.',
  },
  method_not_allowed: {
    status: 405,
    cause: 'The path exists, and not with this method.',
    remedy: 'Use a method that the header Allow names.',
  },
  request_too_slow: {
    status: 408,
    cause: 'The request, or its body, was not sent in time.',
    remedy: 'Send it again. Send large values as files.',
  },
  length_required: {
    status: 411,
    cause: 'The body is a file, and its length is not known.',
    remedy: 'Send the header Content-Length, or use a resumable upload.',
  },
  body_too_large: {
    status: 413,
    cause: 'The body is larger than the installation permits (RUNLEDGER_BODY_MAX_BYTES).',
    remedy: 'Upload large values as files, and name their ids.',
  },
  content_type_unsupported: {
    status: 415,
    cause: 'The body has another type, or another charset, than the operation takes.',
    remedy: 'Send JSON as application/json in UTF-8, and files as the sentence says.',
  },
  content_encoding_unsupported: {
    status: 415,
    cause: 'The encoding of the body is not supported.',
    remedy: 'Send JSON plain or with gzip, deflate or br, and files without Content-Encoding.',
  },
  range_not_satisfiable: {
    status: 416,
    cause: 'The requested part lies behind the end of the file.',
    remedy: 'Request a part within the length that Content-Range names.',
  },
  expectation_failed: {
    status: 417,
    cause: 'The header Expect asks for something that the service does not know.',
    remedy: 'Send "100-continue", or no such header.',
  },
  invalid_request: {
    status: 422,
    cause:
      'The request does not fit its description, or names something that it cannot. `detail` is a list of everything that is wrong.',
    remedy:
      'Correct what each item names: `loc` is where, `type` is what in words for programs, `msg` is what in words for people.',
  },
  headers_too_large: {
    status: 431,
    cause: 'The headers have more than 16 KiB together.',
    remedy: 'Send fewer or shorter headers, and a shorter address.',
  },
} as const satisfies CodeRows;
