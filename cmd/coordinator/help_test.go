package main

import (
	"testing"

	"github.com/cleave-project/cleave/test/flagtest"
)

func TestEveryFlagIsInAGroup(t *testing.T) {
	program, help := command()
	flagtest.CheckGroups(t, program, help)
}
