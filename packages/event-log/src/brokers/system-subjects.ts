/** Requests to the brokers themselves, in their system account: what each of them holds, and to take one out of the cluster. */
export const BROKER_STATES = '$SYS.REQ.SERVER.PING.JSZ';
export const REMOVE_BROKER = '$JS.API.SERVER.REMOVE';
