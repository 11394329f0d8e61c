package main

import (
	"testing"

	"github.com/cleave-project/cleave/test/flagtest"
)

func TestEveryFlagIsInAGroup(t *testing.T) { flagtest.CheckGroups(t, command(), help()) }
