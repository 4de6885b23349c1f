/**
 * Of a response: the members of the request's body that the operation does not know, and ignored. Such as `inputz, retry.attemps`: paths with
 * dots, in which each name is percent-encoded where it has other characters than letters, digits and a few marks. `...` at the end
 * says that there are more.
 */
export const IGNORED_MEMBERS_HEADER = 'Runledger-Ignored-Members';
