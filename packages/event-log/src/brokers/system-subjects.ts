/** Requests to the brokers themselves, in their system account: what each of them holds, what is wrong with it, and to take one out of the cluster. */
export const BROKER_STATES = '$SYS.REQ.SERVER.PING.JSZ';
export const REMOVE_BROKER = '$JS.API.SERVER.REMOVE';
export const BROKER_HEALTH = '$SYS.REQ.SERVER.PING.HEALTHZ';
