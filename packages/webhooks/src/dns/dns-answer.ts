/** What became of a question for a name's addresses. */
export type Resolution =
  | { readonly kind: 'addresses'; readonly addresses: readonly string[] }
  /** DNS says that the name does not exist, or has no address. */
  | { readonly kind: 'not_found'; readonly why: string }
  /** The servers of the name gave no answer, or a broken one: a failure on the name's side. */
  | { readonly kind: 'unanswered'; readonly why: string }
  /** No DNS server could be asked: a failure on our side. */
  | { readonly kind: 'no_server'; readonly why: string };

/** What became of the question for one family of addresses; `code` is one of c-ares. */
export type FamilyAnswer = { readonly addresses: readonly string[] } | { readonly code: string };

/** A failed question as a value; anything that is no answer of DNS is a bug and is thrown. */
export const readAnswer = (error: unknown): FamilyAnswer => {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string' && 'syscall' in error)
    return { code: error.code };
  throw error;
};

/** Whether a DNS server said anything, be it that it will not answer. */
export const isResponse = (answer: FamilyAnswer): boolean =>
  'addresses' in answer || !UNHEARD.has(answer.code);

const UNHEARD = new Set(['ETIMEOUT', 'ECONNREFUSED', 'ECANCELLED', 'EBADNAME']);

/**
 * One result for both families. Addresses of either are enough: some name servers never answer for IPv6, and only
 * addresses that are known are connected to. `silent` says that no DNS server answers anything.
 */
export const joinAnswers = (name: string, answers: readonly FamilyAnswer[], silent: boolean): Resolution => {
  const addresses = answers.flatMap((answer) => ('addresses' in answer ? answer.addresses : []));
  if (addresses.length > 0) return { kind: 'addresses', addresses };
  const codes = answers.map((answer) => ('code' in answer ? answer.code : 'ENODATA'));
  if (codes.includes('ECONNREFUSED'))
    return { kind: 'no_server', why: `no DNS server takes questions (ECONNREFUSED, asked for ${name})` };
  if (codes.includes('ETIMEOUT') && silent)
    return { kind: 'no_server', why: `no DNS server answers anything (ETIMEOUT, asked for ${name} last)` };
  const failed = codes.find((code) => !NO_SUCH.has(code));
  return failed === undefined
    ? { kind: 'not_found', why: `the name ${name} has no address in DNS (${codes[0] ?? 'ENODATA'})` }
    : { kind: 'unanswered', why: `DNS gave no answer for the name ${name} (${failed})` };
};

/** EBADNAME: a name that no question can hold. */
const NO_SUCH = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);
