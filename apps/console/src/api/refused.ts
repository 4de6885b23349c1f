/** The body of a refusal of the API. */
export interface Refusal {
  /** A sentence, or what is wrong with each member of the request. */
  readonly detail: string | readonly { readonly msg: string; readonly loc?: readonly (string | number)[] }[];
  readonly code: string;
  readonly request_id?: string;
}

/** What the service refused, in its own words. */
export class Refused extends Error {
  readonly code: string;
  /** 0 when there was no response. */
  readonly status: number;
  readonly requestId: string | undefined;

  constructor({ detail, code, request_id }: Refusal, status: number, options?: ErrorOptions) {
    super(typeof detail === 'string' ? detail : detail.map(sentenceOf).join(' '), options);
    this.name = 'Refused';
    this.code = code;
    this.status = status;
    this.requestId = request_id;
  }
}

const sentenceOf = ({
  msg,
  loc = [],
}: {
  readonly msg: string;
  readonly loc?: readonly (string | number)[];
}): string => {
  const member = loc.filter((part) => part !== 'body').join('.');
  return member === '' ? `${msg}.` : `${member}: ${msg}.`;
};
