/** A function has its inputs as one object. */
export const add = async ({ a, b }) => `${a} and ${b} are ${a + b}`;
