/** The account at the broker that holds the log. Each service has an account of its own. */
export const LOG_ACCOUNT = 'RUNLEDGER';

/**
 * Services send the requests of JetStream under this prefix. Under JetStream's own prefix the broker would respond for the
 * account of the requester, which has no JetStream.
 */
export const API_PREFIX = `$JS.${LOG_ACCOUNT}.API`;

/** JetStream's own prefix: for a client in the account of the log, and for a broker without accounts. */
export const OWN_API_PREFIX = '$JS.API';
