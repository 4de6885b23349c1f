/** The outcome of a query for the addresses of a name. */
export type Resolution =
  | { readonly kind: 'addresses'; readonly addresses: readonly string[] }
  /** DNS says that the name does not exist, or has no address. */
  | { readonly kind: 'not_found'; readonly why: string }
  /** The servers of the name gave no response, or a broken one: a failure on the side of the name. */
  | { readonly kind: 'unanswered'; readonly why: string }
  /** No DNS server could be reached: a failure on our side. */
  | { readonly kind: 'no_server'; readonly why: string };

/** The outcome of a query for one address family; `code` is one of c-ares. */
export type FamilyAnswer = { readonly addresses: readonly string[] } | { readonly code: string };

/** A failed query as a value. An error that does not come from DNS is a bug and is thrown. */
export const readAnswer = (error: unknown): FamilyAnswer => {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string' && 'syscall' in error)
    return { code: error.code };
  throw error;
};

/** Whether a DNS server responded at all, even with a refusal. */
export const isResponse = (answer: FamilyAnswer): boolean =>
  'addresses' in answer || !NO_RESPONSE.has(answer.code);

const NO_RESPONSE = new Set(['ETIMEOUT', 'ECONNREFUSED', 'ECANCELLED', 'EBADNAME']);

/**
 * One result for both families. Addresses of one family are enough: some name servers never respond for IPv6, and only
 * known addresses are connected to. `isOutage` means that no DNS server responds at all.
 */
export const joinAnswers = (
  name: string,
  answers: readonly FamilyAnswer[],
  isOutage: boolean,
): Resolution => {
  const addresses = answers.flatMap((answer) => ('addresses' in answer ? answer.addresses : []));
  if (addresses.length > 0) return { kind: 'addresses', addresses };
  const codes = answers.map((answer) => ('code' in answer ? answer.code : 'ENODATA'));
  if (codes.includes('ECONNREFUSED'))
    return {
      kind: 'no_server',
      why: `every DNS server refuses connections (ECONNREFUSED, query for ${name})`,
    };
  if (codes.includes('ETIMEOUT') && isOutage)
    return { kind: 'no_server', why: `no DNS server answers any query (ETIMEOUT, last query for ${name})` };
  const failed = codes.find((code) => !NO_SUCH.has(code));
  return failed === undefined
    ? { kind: 'not_found', why: `the name ${name} has no address in DNS (${codes[0] ?? 'ENODATA'})` }
    : { kind: 'unanswered', why: `DNS gave no answer for the name ${name} (${failed})` };
};

/** EBADNAME: a name that cannot be in a query. */
const NO_SUCH = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);
