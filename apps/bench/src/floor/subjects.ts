/** Of the messages that come first, each followed by its number. */
export const FIRST = 'first';
/** Of those that follow them, with the same number. */
export const SECOND = 'second';
/** Where the broker delivers the first ones. */
export const DELIVERED = 'delivered';
